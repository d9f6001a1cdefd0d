// Comforts: local times, copying, dialogs, the theme. Every page works without.
"use strict";
(() => {
  const root = document.documentElement;
  const hour = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  const moment = { day: "numeric", month: "short", year: "numeric", ...hour };

  function showLocal(time) {
    const at = new Date(time.dateTime);
    time.dataset.seen = "";
    if (at.getTimezoneOffset() === 0) return;
    if (time.dataset.local === "also") {
      time.append(` (${at.toLocaleTimeString(root.lang, hour)})`);
    } else {
      time.title = time.textContent;
      time.textContent = at.toLocaleString(root.lang, moment);
    }
  }

  function dress() {
    document.querySelectorAll("time[data-local]:not([data-seen])").forEach(showLocal);
    if (!navigator.clipboard) return;
    document.querySelectorAll("[data-copy][hidden]").forEach((button) => (button.hidden = false));
  }

  async function copy(button) {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = button.dataset.copied;
  }

  // Shows the form of the page that asks above this one.
  async function ask(link) {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const form = page.getElementById("confirm");
    if (!form) return location.assign(link.href);
    if (document.querySelector("dialog")) return;
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-labelledby", "confirm-asks");
    form.action = link.href;
    dialog.append(form);
    dialog.addEventListener("click", (event) => {
      if (!event.target.closest("[data-close]")) return;
      event.preventDefault();
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      document.getElementById(link.id)?.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  async function setTheme(form, button) {
    const body = new FormData(form, button);
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    if (answer.type !== "opaqueredirect") return location.reload();
    if (button.value === "auto") delete root.dataset.theme;
    else root.dataset.theme = button.value;
    for (const each of form.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", each === button);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
    const link = event.target.closest("a[data-dialog]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ask(link).catch(() => location.assign(link.href));
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "theme") return;
    event.preventDefault();
    setTheme(event.target, event.submitter).catch(() => location.reload());
  });
  new MutationObserver(dress).observe(document.body, { childList: true, subtree: true });
  dress();
})();
