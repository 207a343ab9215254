"use strict";
// The pages work without this file. It adds keys, search while typing, live entries, the theme, and copying.
const $ = (q, from = document) => from.querySelector(q);
const $$ = (q, from = document) => [...from.querySelectorAll(q)];
const stored = (name, value) => {
  try {
    if (value === undefined) return localStorage.getItem("treeline." + name);
    if (value === null) localStorage.removeItem("treeline." + name);
    else localStorage.setItem("treeline." + name, value);
  } catch { } // private windows have no storage
  return null;
};
const root = document.documentElement;

// Theme: as the system says, light or dark.
const setTheme = (t) => { if (t) root.dataset.theme = t; else delete root.dataset.theme; };
setTheme(stored("theme"));
const nextTheme = () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"];
  const t = order[(order.indexOf(root.dataset.theme || "") + 1) % 3];
  setTheme(t);
  stored("theme", t || null);
  say("Theme: " + (t || "as the system"));
};

// A short message at the bottom of the window, which screen readers read out.
let toast, toastTimer;
const say = (text) => {
  if (!toast) {
    toast = document.createElement("div");
    toast.className = "toast";
    toast.setAttribute("role", "status");
    document.body.append(toast);
  }
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 2500);
};
const copy = async (text, what) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not a secure context: over plain http on another host
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(what + " copied");
};

// Blocks: the messages of a transcript, the files of a diff, the steps of a run. In a list, its rows.
const shown = (e) => e.getClientRects().length > 0;
const blocks = () => $$(document.querySelector("[data-list]") ? "[data-session]" : "[data-block]").filter(shown);
let current = null;
const select = (e) => {
  if (!e) return;
  current?.classList.remove("now");
  current = e;
  if (e.matches("a")) { e.focus(); e.scrollIntoView({ block: "nearest" }); return; }
  e.classList.add("now");
  const box = e.getBoundingClientRect();
  if (box.top < 60 || box.bottom > innerHeight) e.scrollIntoView({ block: "start" });
  e.focus({ preventScroll: true });
};
const here = (list) => {
  const i = list.indexOf(current);
  if (i >= 0) return i;
  const next = list.findIndex((e) => e.getBoundingClientRect().bottom > 64); // the first one that is visible
  return next < 0 ? list.length : next - 0.5;
};
const move = (step, only) => {
  const list = blocks();
  const at = here(list);
  for (let i = step > 0 ? Math.floor(at) + 1 : Math.ceil(at) - 1; i >= 0 && i < list.length; i += step) {
    if (!only || list[i].matches(only)) return select(list[i]);
  }
  if (step < 0 && !only) $("[data-more=before]")?.focus();
};
const fold = () => {
  const list = blocks();
  const block = list.includes(current) ? current : list[Math.max(0, Math.ceil(here(list)))];
  if (!block) return;
  const all = block.matches("details") ? [block] : $$("details.tool, details.group, details.think", block);
  const open = all.some((d) => d.open);
  for (const d of all) d.open = !open;
  select(block);
};
const foldAll = () => {
  const all = $$("details.tool, details.group, details.think, details.file, details.step, details.compaction");
  const open = all.some((d) => d.open);
  for (const d of all) d.open = !open;
};

// The sessions of the last list, for [ and ].
const session = (step) => {
  let list = [];
  try { list = JSON.parse(sessionStorage.getItem("treeline.list") || "[]"); } catch { }
  const i = list.indexOf(location.pathname);
  const to = list[i < 0 ? 0 : i + step];
  if (to) location.href = to; else say(step < 0 ? "This is the first session of the list" : "This is the last session of the list");
};
const rememberList = () => {
  const links = $$("main[data-list] a[data-session]").map((a) => a.pathname);
  if (links.length) try { sessionStorage.setItem("treeline.list", JSON.stringify([...new Set(links)])); } catch { }
};

// Search while typing. The server sends the list of hits as HTML.
const searching = () => {
  const form = $("form.search");
  if (!form) return;
  const input = $("input", form), found = $(".found", form);
  let timer, request;
  const close = () => { found.hidden = true; request?.abort(); };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    const q = input.value.trim();
    if (!q) return close();
    timer = setTimeout(async () => {
      request?.abort();
      request = new AbortController();
      try {
        const url = form.action + "?" + new URLSearchParams({ q, part: "hits" });
        const answer = await fetch(url, { signal: request.signal });
        if (!answer.ok) throw new Error(answer.statusText);
        put(found, await answer.text());
      } catch (e) {
        if (e.name === "AbortError") return;
        found.textContent = "The search did not work: " + e.message;
      }
      found.className = "found hits";
      found.hidden = document.activeElement !== input;
    }, 140);
  });
  form.addEventListener("keydown", (e) => {
    const list = $$("a", found);
    const i = list.indexOf(document.activeElement);
    if (e.key === "ArrowDown" && !found.hidden) (list[i + 1] || list[0])?.focus();
    else if (e.key === "ArrowUp" && i >= 0) (list[i - 1] || input).focus();
    else if (e.key === "Escape") { close(); input.blur(); }
    else return;
    e.preventDefault();
  });
  document.addEventListener("click", (e) => { if (!form.contains(e.target)) close(); });
};
// put replaces the content of an element by HTML of the server. Scripts in it would not run.
const put = (e, html) => e.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);

// Live: new entries are asked for when the server says that there are some.
const live = () => {
  const main = $("main[data-events]");
  if (!main) return;
  let following = false, fresh = 0, timer, busy = false, again = false;
  const bar = $("[data-follow]"), button = $("[data-do=follow]"), newest = $("[data-do=newest]");
  const atEnd = () => innerHeight + scrollY > document.body.scrollHeight - 120;
  const toEnd = () => scrollTo({ top: document.body.scrollHeight });
  const setFollow = (on) => {
    following = on;
    button?.setAttribute("aria-pressed", on);
    if (button) button.textContent = on ? "Following" : "Follow";
    if (on) { toEnd(); seen(); }
  };
  const seen = () => { fresh = 0; if (newest) newest.hidden = true; };
  if (bar) bar.hidden = false;
  button?.addEventListener("click", () => setFollow(!following));
  newest?.addEventListener("click", () => { $(".fork.new")?.scrollIntoView({ block: "center" }); seen(); });
  addEventListener("scroll", () => { if (fresh && atEnd()) seen(); }, { passive: true });

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      if (main.dataset.fragment) await blocksSince(); else await wholePage();
    } catch { } // the next event tries again
    busy = false;
    if (again) { again = false; refresh(); }
  };
  const ask = async (url) => {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(answer.statusText);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  const replace = (doc, names) => {
    for (const name of names) {
      const [now, then] = [$(`[data-live=${name}]`), $(`[data-live=${name}]`, doc)];
      if (!now || !then || now.outerHTML === then.outerHTML) continue;
      const [top, folded] = [now.scrollTop, $(".fold", now)?.checked];
      now.replaceWith(then);
      then.scrollTop = top;
      if (folded) $(".fold", then).checked = true;
    }
    enhance();
  };
  const wholePage = async () => { replace(await ask(location.href), ["list"]); rememberList(); };
  const blocksSince = async () => {
    const holder = $("[data-live=blocks]");
    const list = $$("[data-block]", holder);
    const url = new URL(main.dataset.fragment, location.href);
    const from = list[Math.max(0, list.length - 4)]; // results may still come for the last calls
    if (from) url.searchParams.set("after", from.id);
    const doc = await ask(url);
    const added = merge(holder, $("[data-live=blocks]", doc));
    replace(doc, ["rail", "side"]);
    if (!added.length) return;
    if (!$(".fork.new", holder) && (document.hidden || !following)) {
      const line = document.createElement("div");
      line.className = "fork new";
      line.innerHTML = "<span>new</span>";
      added[0].before(line);
    }
    if (following) return toEnd();
    fresh += added.filter((e) => e.matches("[data-block]")).length;
    if (newest && fresh) {
      newest.hidden = false;
      newest.textContent = fresh === 1 ? "1 new entry" : fresh + " new entries";
    }
  };
  // merge puts blocks into the transcript. A block that is there is replaced if it changed, and stays unfolded as it was.
  const merge = (holder, news) => {
    const added = [];
    for (const e of [...(news?.children || [])]) {
      const old = e.id && $("#" + CSS.escape(e.id), holder);
      if (!old) {
        if (e.matches(".fork:not(.new)") && !e.nextElementSibling) continue;
        if (e.matches(".fork") && e.nextElementSibling?.id && $("#" + CSS.escape(e.nextElementSibling.id), holder)) continue;
        holder.append(e);
        added.push(e);
        continue;
      }
      const open = $$("details", old).map((d) => d.open);
      $$("details", e).forEach((d, i) => { if (i < open.length) d.open = open[i]; });
      if (old.innerHTML !== e.innerHTML) old.replaceWith(e);
    }
    return added;
  };

  const source = new EventSource(main.dataset.events);
  const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, main.dataset.fragment ? 60 : 800); };
  for (const name of ["message", "entry", "change", "session"]) source.addEventListener(name, soon);
  source.addEventListener("reload", () => location.reload());
  addEventListener("pagehide", () => source.close());
  root.dataset.live = "yes";
};

// Earlier and later blocks are put into the page instead of loading another one.
const more = async (link) => {
  const main = link.closest("main");
  const url = new URL(main.dataset.fragment, location.href);
  const way = link.dataset.more;
  url.searchParams.set(way, new URL(link.href).searchParams.get(way));
  const answer = await fetch(url);
  if (!answer.ok) return location.assign(link.href);
  const doc = new DOMParser().parseFromString(await answer.text(), "text/html");
  const news = $("[data-live=blocks]", doc), next = $(`[data-more=${way}]`, doc), holder = $("[data-live=blocks]");
  const height = document.body.scrollHeight;
  if (way === "before") {
    holder.prepend(...news.childNodes);
    scrollBy(0, document.body.scrollHeight - height);
  } else {
    holder.append(...news.childNodes);
  }
  if (next) link.replaceWith(next); else link.remove();
  enhance();
};

// An export has all branches. One path is shown at a time: the one to the entry that the address names.
const branches = () => {
  const sections = $$("section.branch");
  if (!sections.length) return;
  const main = $("[data-live=blocks]");
  const show = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const path = []; // sections from the one with the target up to the root
    let at = target?.closest("section.branch");
    while (at && !path.includes(at)) {
      path.unshift(at);
      const from = document.getElementById(at.dataset.from);
      at = from?.closest("section.branch");
    }
    for (const s of sections) s.hidden = !path.includes(s);
    [main, ...path].forEach((part, i) => {
      const end = path[i] && document.getElementById(path[i].dataset.from)?.closest("[data-block]");
      let hide = Boolean(path[i]) && !end; // a branch from the root
      for (const e of part.children) {
        e.hidden = hide && !e.matches("section");
        if (e === end) hide = true;
      }
    });
    target?.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
};

// Every link and button with data-action is in the menu; data-keys is its key.
const actions = () => {
  const list = [
    ["Search", "/", () => $("form.search input")?.focus()],
    ["Next message or row", "j", () => move(1)],
    ["Message or row before", "k", () => move(-1)],
    ["Next prompt", "J", () => move(1, "[data-prompt]")],
    ["Prompt before", "K", () => move(-1, "[data-prompt]")],
    ["Next session of the list", "]", () => session(1)],
    ["Session of the list before", "[", () => session(-1)],
    ["Fold or unfold", "e", fold],
    ["Fold or unfold all", "E", foldAll],
    ["To the top", "g g", () => scrollTo({ top: 0 })],
    ["To the end", "G", () => scrollTo({ top: document.body.scrollHeight })],
    ["Light or dark", "", nextTheme],
    ["All keys and actions", "?", () => menu()],
  ].filter(([name]) => name !== "Search" || $("form.search"));
  const names = new Set(list.map(([name]) => name));
  for (const e of $$("[data-action]")) {
    if (names.has(e.dataset.action)) continue;
    names.add(e.dataset.action);
    list.push([e.dataset.action, e.dataset.keys || "", () => nearest(e.dataset.action).click()]);
  }
  return list;
};
// nearest gives the element of an action that is closest to the current block: there may be many forks.
const nearest = (name) => {
  const all = $$("[data-action]").filter((e) => e.dataset.action === name);
  const middle = current ? current.getBoundingClientRect().top : innerHeight / 3;
  const distance = (e) => Math.abs(e.getBoundingClientRect().top - middle);
  return all.sort((a, b) => distance(a) - distance(b))[0];
};
const menu = () => {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Actions");
  dialog.innerHTML = '<input type="search" placeholder="Type to find an action" aria-label="Find an action"><ul></ul>';
  const [input, ul] = dialog.children;
  const all = actions().filter(([, keys]) => keys !== "?");
  const fill = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    ul.replaceChildren(...all.filter(([name]) => words.every((w) => name.toLowerCase().includes(w))).map(([name, keys, run], i) => {
      const li = document.createElement("li"), button = document.createElement("button");
      button.append(name);
      for (const key of keys ? [keys] : []) {
        const kbd = document.createElement("kbd");
        kbd.textContent = key;
        button.append(kbd);
      }
      button.addEventListener("click", () => { dialog.close(); run(); });
      li.append(button);
      li.classList.toggle("first", i === 0);
      return li;
    }));
  };
  input.addEventListener("input", fill);
  dialog.addEventListener("keydown", (e) => {
    const list = $$("button", ul);
    const i = list.indexOf(document.activeElement);
    if (e.key === "ArrowDown") list[i < 0 ? 1 : i + 1]?.focus();
    else if (e.key === "ArrowUp") (list[i - 1] || input).focus();
    else if (e.key === "Enter" && document.activeElement === input) list[0]?.click();
    else return;
    e.preventDefault();
  });
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  fill();
  dialog.showModal();
};

let prefix = "";
const onKey = (e) => {
  if (e.ctrlKey && e.key === "k") { e.preventDefault(); return menu(); }
  if (e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]")) return;
  if (e.target.closest("input, textarea, select")) return;
  if (e.key === "Escape") {
    for (const d of $$("details.menu[open]")) d.open = false;
    current?.classList.remove("now");
    current = null;
    return;
  }
  if (e.key.length !== 1) return;
  const typed = prefix ? prefix + " " + e.key : e.key;
  prefix = "";
  const list = actions();
  const action = list.find(([, keys]) => keys === typed);
  if (action) {
    e.preventDefault();
    action[2]();
  } else if (list.some(([, keys]) => keys.startsWith(typed + " "))) {
    prefix = typed;
    setTimeout(() => { prefix = ""; }, 1200);
  }
};

const onClick = (e) => {
  const button = e.target.closest("[data-copy], [data-do], [data-more]");
  for (const d of $$("details.menu[open]")) if (!d.contains(e.target)) d.open = false;
  if (!button) return;
  if (button.dataset.copy) return copy(button.dataset.copy, "Command");
  if (button.dataset.more && $("main").dataset.fragment) {
    e.preventDefault();
    return more(button);
  }
  switch (button.dataset.do) {
    case "theme": return nextTheme();
    case "menu": return menu();
    case "link": {
      const list = blocks();
      const block = current || list[Math.max(0, Math.ceil(here(list)))];
      const link = block && $(".who a", block);
      return copy(link ? link.href : location.href, "Link");
    }
  }
};

// What only works with this script is hidden until it runs.
const enhance = () => { for (const e of $$("button[data-copy][hidden], [data-do=theme], [data-do=menu], [data-do=link]")) e.hidden = false; };

document.addEventListener("DOMContentLoaded", () => {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  enhance();
  rememberList();
  searching();
  live();
  branches();
  const folded = $(".fold");
  if (folded) {
    folded.checked = stored("rail") === "folded" && matchMedia("(min-width: 821px)").matches;
    document.addEventListener("change", (e) => { if (e.target.matches(".fold")) stored("rail", e.target.checked ? "folded" : null); });
    $(".graph [aria-current]")?.scrollIntoView({ block: "nearest" });
  }
  // A fragment outside of the window that is shown: the server is asked for it.
  const id = decodeURIComponent(location.hash.slice(1));
  if (id && $("main[data-fragment]") && !document.getElementById(id)) {
    const url = new URL(location.href);
    if (url.searchParams.get("at") !== id) {
      url.searchParams.set("at", id);
      location.replace(url);
    }
  }
});
