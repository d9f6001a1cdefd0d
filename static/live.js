// The page of one job. Its states come by one stream while the tab is in view, and by none otherwise.
//   listen   opens the stream, which mends itself; where none can be had the page asks instead
//   refresh  asks for the present state: on return, after a quiet minute, after a failure
const ASK_EVERY = 15e3, RETRY = 3e3, QUIET = 6e4, PATIENCE = 1e4, SAY_EVERY = 5e3;
const byId = id => document.getElementById(id);
const panel = () => byId("_job_panel");
const paused = () => document.cookie.split("; ").includes("live=paused");
const isLive = () => panel().dataset.stream && !document.hidden && !paused();
const [connection, controls] = [byId("connection"), byId("live-controls")];
let source, timer, losing, saying, held, turn = 0, failures = 0, replaced, shownAt = Date.now(), saidAt = 0;

function next(step, wait) {
  clearTimeout(timer);
  timer = setTimeout(step, wait);
}

function stop() {
  turn++;
  source?.close();
  clearTimeout(timer);
}

function listen() {
  stop();
  if (!isLive()) return;
  if (replaced || failures > 1) {
    failures = 1;
    return next(refresh, ASK_EVERY);
  }
  let heard = false;
  source = new EventSource(panel().dataset.stream);
  next(fail, PATIENCE);
  source.onopen = found;
  source.onerror = () => {
    lose();
    if (!heard || source.readyState === EventSource.CLOSED) fail();
  };
  source.addEventListener("state", event => {
    heard = true;
    failures = 0;
    next(refresh, QUIET * (1 + Math.random() / 2));
    if (+event.lastEventId > +panel().dataset.version) show(event.data);
  });
  source.addEventListener("close", event => {
    stop();
    replaced = event.data === "replaced";
    if (replaced) next(refresh, ASK_EVERY);
  });
}

function fail() {
  stop();
  failures++;
  next(refresh, RETRY);
}

async function refresh() {
  stop();
  const mine = turn;
  let html;
  try {
    const answer = await fetch(`${location.pathname}?seen=${panel().dataset.version}`, {
      headers: {"HX-Request": "true"}, signal: AbortSignal.timeout(PATIENCE),
    });
    if (answer.status === 404) return location.reload();
    if (answer.ok) html = await answer.text();
  } catch { /* as an answer that is none */ }
  if (mine !== turn) return;
  if (html) {
    found();
    show(html);
    listen();
  } else {
    lose();
    next(refresh, RETRY);
  }
}

function show(html) {
  const box = document.createElement("template");
  box.innerHTML = html;
  const news = box.content.getElementById("status"), old = panel();
  if (+box.content.getElementById("_job_panel").dataset.version < +old.dataset.version) return;
  // An open question is not torn from under the hand.
  held = old.querySelector("dialog[open]") && html;
  if (held) return;
  news?.remove();
  if (news) say(news.textContent);
  const unfolded = [...old.querySelectorAll("details[open][id]")].map(details => details.id);
  const hadFocus = old.contains(document.activeElement);
  htmx.swap(old, box.innerHTML, {swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0});
  shownAt = Date.now();
  for (const id of unfolded) byId(id)?.setAttribute("open", "");
  if (hadFocus && !panel().contains(document.activeElement)) byId("main").focus({preventScroll: true});
  draw();
}

function say(text) {
  clearTimeout(saying);
  saying = setTimeout(() => {
    if (byId("status").textContent === text) return;
    byId("status").textContent = text;
    saidAt = Date.now();
  }, saidAt + SAY_EVERY - Date.now());
}

function lose() {
  losing ??= setTimeout(() => tell("lost"), SAY_EVERY);
}

function found() {
  clearTimeout(losing);
  losing = null;
  draw();
}

function tell(what) {
  const text = connection.dataset[what] ?? "";
  if (connection.textContent !== text) connection.textContent = text;
  connection.className = text ? "notice" : "visually-hidden";
}

function draw() {
  const isOpen = "stream" in panel().dataset, isPaused = isOpen && paused();
  if (isOpen && !byId("pause")) {
    controls.after(controls.content.cloneNode(true));
    byId("pause").onclick = pause;
  } else if (!isOpen) byId("pause")?.parentElement.remove();
  byId("pause")?.setAttribute("aria-pressed", isPaused);
  if (!losing) tell(isPaused && "paused");
}

function pause() {
  document.cookie = `live=paused; path=/; samesite=lax; max-age=${paused() ? 0 : 31536e3}`;
  found();
  follow();
}

function follow() {
  stop();
  failures = replaced = 0;
  draw();
  if (isLive()) refresh();
}

function inWords(seconds) {
  const [h, min, s] = connection.dataset.units.split(" "), whole = Math.floor(seconds);
  if (whole < 60) return `${whole} ${s}`;
  const minutes = Math.floor(whole / 60);
  return whole < 3600 ? `${minutes} ${min} ${whole % 60} ${s}` : `${Math.floor(minutes / 60)} ${h} ${minutes % 60} ${min}`;
}

function tick() {
  if (!isLive()) return;
  for (const time of panel().querySelectorAll("[data-lasted]"))
    time.textContent = inWords(+time.dataset.lasted + (Date.now() - shownAt) / 1e3);
}

addEventListener("pagehide", stop);
addEventListener("pageshow", event => event.persisted && (isLive() ? follow() : refresh()));
addEventListener("online", follow);
addEventListener("offline", follow);
document.addEventListener("visibilitychange", follow);
document.addEventListener("close", () => held && show(held), true);
// A streamed form was rendered for nobody in particular: the page knows the token.
document.addEventListener("formdata", event => {
  const token = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
  if (event.target.method === "post") event.formData.set("csrfmiddlewaretoken", token);
});
setInterval(tick, 1e3);
draw();
listen();
