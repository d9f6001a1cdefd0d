// The page of one job. Its states come by a stream; out of view it asks, if wished.
//   listen   opens the stream; where none is to be had it asks
//   refresh  asks for the present state
const ASK_EVERY = 15e3, RETRY = 3e3, QUIET = 6e4, PATIENCE = 1e4, SAY_EVERY = 5e3;
const byId = id => document.getElementById(id);
const panel = () => byId("_job_panel");
const stream = () => panel().dataset.stream;
const paused = () => /\blive=paused/.test(document.cookie);
const [connection, button, notify] = ["connection", "pause", "notify"].map(byId);
const isLive = () => stream() && (document.hidden ? wished : !paused());
let source, timer, losing, saying, held, wished, turn = 0, failures = 0, replaced, shownAt = Date.now(), saidAt = 0;

function next(wait, step = refresh) {
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
  if (replaced || failures > 1 || document.hidden) {
    failures = 1;
    return next(ASK_EVERY);
  }
  let heard = false;
  source = new EventSource(stream());
  next(PATIENCE, fail);
  source.onopen = found;
  source.onerror = () => {
    lose();
    if (!heard || source.readyState > 1) fail();
  };
  source.addEventListener("state", event => {
    heard = true;
    failures = 0;
    if (+event.lastEventId > +panel().dataset.version) show(event.data);
    next(rest());
  });
  source.addEventListener("close", ({data}) => {
    stop();
    replaced = data === "replaced";
    if (data !== "ended") next(ASK_EVERY);
  });
}

// The panel says when it has other words without news.
function rest() {
  const due = panel().dataset.look * 1e3 + shownAt - Date.now();
  return due > 0 && due < QUIET ? due : QUIET * (1 + Math.random() / 2);
}

function fail() {
  stop();
  failures++;
  next(RETRY);
}

async function refresh() {
  stop();
  const mine = turn;
  let html, wait = RETRY;
  try {
    const answer = await fetch(`?seen=${panel().dataset.version}`, {
      headers: {"HX-Request": "true"}, signal: AbortSignal.timeout(PATIENCE),
    });
    if (answer.status === 404) return location.reload();
    if (answer.status === 429) wait = answer.headers.get("Retry-After") * 1e3 || wait;
    if (answer.ok) html = await answer.text();
  } catch {}
  if (mine !== turn) return;
  if (!html) {
    lose();
    return next(wait);
  }
  found();
  show(html);
  listen();
}

function show(html) {
  const box = document.createElement("template");
  box.innerHTML = html;
  const news = box.content.getElementById("status"), old = panel();
  if (+box.content.getElementById("_job_panel").dataset.version < +old.dataset.version) return;
  // An open question stays.
  if (held = old.querySelector("dialog[open]") && html) return;
  news?.remove();
  if (news) say(news.textContent);
  const unfolded = old.querySelectorAll("details[open][id]");
  const hadFocus = old.contains(document.activeElement);
  htmx.swap(old, box.innerHTML, {swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0});
  shownAt = Date.now();
  for (const {id} of unfolded) byId(id)?.setAttribute("open", "");
  if (hadFocus && !panel().contains(document.activeElement)) byId("main").focus({preventScroll: true});
  draw();
  if (document.hidden && wished && !stream())
    new Notification(document.title.split(" ·")[0]).onclick = () => focus();
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
  if (text !== connection.textContent) connection.textContent = text;
  connection.className = text ? "notice" : "visually-hidden";
}

function draw() {
  button.hidden = !stream();
  button.ariaPressed = paused();
  if (!losing) tell(stream() && paused() && "paused");
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
  const [h, min, s] = connection.dataset.units.split(" "), minutes = ~~(seconds / 60);
  if (minutes > 59) return `${~~(minutes / 60)} ${h} ${minutes % 60} ${min}`;
  return `${minutes ? `${minutes} ${min} ` : ""}${~~seconds % 60} ${s}`;
}

function tick() {
  if (!isLive()) return;
  for (const time of panel().querySelectorAll("[data-lasted]"))
    time.textContent = inWords(+time.dataset.lasted + (Date.now() - shownAt) / 1e3);
}

addEventListener("pagehide", stop);
addEventListener("pageshow", event => event.persisted && (isLive() ? follow() : refresh()));
for (const name of ["online", "offline", "visibilitychange"]) addEventListener(name, follow);
addEventListener("close", () => held && show(held), true);
// A streamed form has no token.
const {name, value} = byId("theme").csrfmiddlewaretoken;
addEventListener("formdata", ({target, formData}) => target.method === "post" && formData.set(name, value));
button.onclick = pause;
if (self.Notification && notify) {
  notify.hidden = Notification.permission === "denied";
  notify.onclick = async () => {
    wished = await Notification.requestPermission() === "granted";
    notify.ariaPressed = wished;
    notify.hidden = !wished;
  };
}
setInterval(tick, 1e3);
draw();
listen();
