// Comforts: every page works without them.
const root = document.documentElement;
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
const all = (selector, act) => document.querySelectorAll(selector).forEach(act);

function showLocal(time) {
  const at = new Date(time.dateTime);
  delete time.dataset.local;
  if (at.getTimezoneOffset()) time.append(` (${at.toLocaleTimeString(root.lang, clock)})`);
}

function dress() {
  all("time[data-local]", showLocal);
  if (navigator.clipboard) all("[data-copy][hidden]", button => button.hidden = false);
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = button.dataset.copied;
}

// The asking page's form, above this one.
async function ask(link) {
  const text = await (await fetch(link.href)).text();
  const { confirm: form } = new DOMParser().parseFromString(text, "text/html").forms;
  if (document.querySelector("dialog")) return;
  form.action = link.href;
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "confirm-asks");
  dialog.append(form);
  dialog.onclose = () => {
    dialog.remove();
    document.getElementById(link.id)?.focus();
  };
  form.querySelector("a").onclick = event => {
    event.preventDefault();
    dialog.close();
  };
  document.body.append(dialog);
  dialog.showModal();
}

async function setTheme(form, chosen) {
  const body = new FormData(form, chosen);
  const { type } = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (type !== "opaqueredirect") throw type;
  root.dataset.theme = chosen.value;
  all("#theme button", each => each.ariaPressed = each === chosen);
}

// What htmx could not do the browser does, and shows why not.
const goOn = ({ target }) => target.href ? location = target.href : target.submit?.();
addEventListener("htmx:sendError", goOn);
addEventListener("htmx:responseError", goOn);
addEventListener("click", event => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  const link = event.target.closest("[data-dialog]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  ask(link).catch(() => location.assign(link.href));
});
addEventListener("submit", event => {
  if (event.target.id !== "theme") return;
  event.preventDefault();
  setTheme(event.target, event.submitter).catch(() => location.reload());
});
new MutationObserver(dress).observe(document.body, { childList: true, subtree: true });
dress();
