// Says when a refresh failed: the board itself stays as it was.
const lost = document.getElementById("board-lost");
const say = text => { if (lost.textContent !== text) lost.textContent = text; };
const fail = ({ target }) => say(target.dataset.lost ?? "");
addEventListener("htmx:sendError", fail);
addEventListener("htmx:responseError", fail);
addEventListener("htmx:afterSwap", () => say(""));
