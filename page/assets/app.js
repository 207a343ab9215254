"use strict";
// The pages work without this script. It adds keys, search while typing, live entries and copying.
const $ = (q, from = document) => from.querySelector(q);
const $$ = (q, from = document) => [...from.querySelectorAll(q)];
const root = document.documentElement;
const byID = (id) => document.getElementById(id);
const make = (tag, text = "", name = "") => Object.assign(document.createElement(tag), { textContent: text, className: name });
// kept reads or writes a value of this browser, unless it refuses.
const kept = (name, value, place = "localStorage") => {
  try {
    const store = window[place];
    if (value === undefined) return store.getItem("treeline." + name) || "";
    store.setItem("treeline." + name, value);
  } catch { }
  return "";
};

// Theme: as the system says, light or dark.
const setTheme = (t) => { if (t) root.dataset.theme = t; else delete root.dataset.theme; };
setTheme(kept("theme"));
const nextTheme = () => {
  const order = matchMedia("(prefers-color-scheme: dark)").matches ? ["", "light", "dark"] : ["", "dark", "light"];
  const t = order[(order.indexOf(root.dataset.theme || "") + 1) % 3];
  setTheme(t);
  kept("theme", t);
  say("Theme: " + (t || "system"));
};

// say shows a short message, which screen readers read out. One that stays is there until the next.
let toast, toastTimer;
const say = (text, stays) => {
  if (!toast) {
    toast = make("div", "", "toast");
    toast.setAttribute("role", "status");
    document.body.append(toast);
  }
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  if (!stays) toastTimer = setTimeout(() => { toast.hidden = true; }, 2500);
};
const copy = async (text, what) => {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // plain http on another host is not a secure context
    const area = make("textarea", "", "sr");
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  say(what + (done ? " copied" : " could not be copied"));
};
// fetched gets a page or a part of one. Scripts in it would not run.
const fetched = async (url, signal) => {
  const answer = await fetch(url, { signal });
  // The token is no longer good: the server asks for another.
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new Error(answer.statusText || answer.status);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};

// Blocks are the messages of a transcript, the files of a diff, the steps of a run, or the rows of a list.
const blocks = () => $$($("[data-list]") ? "main [data-session]" : "[data-block]").filter((e) => e.getClientRects().length);
const named = (url) => url.hash.slice(1);
// light marks the row of an entry in the tree, unless it has none, and scrolls the tree to it.
const light = (id) => {
  const rows = $$(".graph a"), row = rows.find((a) => named(a) === id), rail = $(".rail");
  if (!row) return;
  rows.forEach((a) => { a.ariaCurrent = a === row || null; });
  const at = row.offsetTop - rail.scrollTop, height = rail.clientHeight;
  if (at < 0 || at > height - 60) rail.scrollTop += at - height / 2;
};
let current = null;
const toEnd = () => scrollTo({ top: document.body.scrollHeight });
const select = (e) => {
  current?.classList.remove("now");
  current = e;
  if (e.matches("a")) return e.focus();
  e.classList.add("now");
  light(e.id);
  const box = e.getBoundingClientRect();
  if (box.top < 60 || box.bottom > innerHeight) e.scrollIntoView();
  e.focus({ preventScroll: true });
};
// where gives the place of the current block in a list. Without one it is before the first that is visible.
const where = (list) => {
  const i = list.indexOf(current);
  if (i >= 0) return i;
  const next = list.findIndex((e) => e.getBoundingClientRect().bottom > 64);
  return (next < 0 ? list.length : next) - 0.5;
};
const move = (step, only) => {
  const list = blocks(), at = where(list);
  for (let i = step > 0 ? Math.floor(at) + 1 : Math.ceil(at) - 1; list[i]; i += step) {
    if (!only || list[i].matches(only)) return select(list[i]);
  }
  $(`[data-more=${step < 0 ? "before" : "after"}]`)?.focus();
};
const block = () => { const list = blocks(); return list[Math.max(0, Math.ceil(where(list)))]; };
const foldable = "main details:not(.menu, .banner)";
const fold = (all) => {
  const open = all.some((d) => d.open);
  for (const d of all) d.open = !open;
};
const foldHere = () => {
  const e = block();
  if (!e) return;
  fold(e.matches(foldable) ? [e] : $$(foldable, e));
  select(e);
};

// The sessions of the last list, for [ and ].
const listed = () => JSON.parse(kept("list", undefined, "sessionStorage") || "[]");
const session = (step) => {
  const list = listed(), i = list.indexOf(location.pathname), to = list[i < 0 ? 0 : i + step];
  if (to) location.href = to; else say("No more sessions in the list");
};
const keepList = () => {
  const links = $$("main[data-list] [data-session]").map((a) => a.pathname);
  if (links.length) kept("list", JSON.stringify([...new Set(links)]), "sessionStorage");
};

// Search while typing. The server sends the list of hits as HTML.
const searching = () => {
  const form = $("form.search");
  if (!form) return;
  const input = $("input", form), found = $(".found", form);
  form.hidden = false;
  if (form.dataset.index) form.addEventListener("submit", (e) => e.preventDefault());
  let timer, request;
  const stop = () => { clearTimeout(timer); request?.abort(); };
  const close = () => { stop(); found.hidden = true; };
  const search = async () => {
    request?.abort();
    request = new AbortController();
    try {
      if (form.dataset.index) return await searchFile(form.dataset.index, input.value, found);
      const doc = await fetched(form.action + "?" + new URLSearchParams({ q: input.value, part: "hits" }), request.signal);
      found.replaceChildren(...doc.body.childNodes);
    } catch (e) {
      if (e.name === "AbortError") return;
      found.replaceChildren(make("p", "The search failed: " + e.message));
    }
    found.hidden = !form.contains(document.activeElement);
  };
  input.addEventListener("input", () => {
    if (!input.value.trim()) return close();
    // The hits so far stay until others come.
    stop();
    timer = setTimeout(search, 140);
  });
  form.addEventListener("keydown", (e) => {
    const list = $$("a", found), i = list.indexOf(document.activeElement);
    if (e.key === "ArrowDown" && !found.hidden) (list[i + 1] || list[0])?.focus();
    else if (e.key === "ArrowUp" && i >= 0) (list[i - 1] || input).focus();
    else if (e.key === "Escape") { close(); input.blur(); }
    else return;
    e.preventDefault();
  });
  document.addEventListener("click", (e) => { if (!form.contains(e.target)) close(); });
  form.addEventListener("focusout", (e) => { if (e.relatedTarget && !form.contains(e.relatedTarget)) close(); });
};

// An export has its search index in a script.
let index;
const searchFile = async (file, query, found) => {
  index ||= await new Promise((done, fail) => {
    const script = make("script");
    window.treelineIndex = done;
    script.onerror = () => fail(new Error("the index is missing"));
    script.src = file;
    document.head.append(script);
  });
  const words = query.toLowerCase().split(/\s+/).filter(Boolean), hits = [];
  for (const s of index) {
    for (const x of [{ e: "", t: s.t }, ...s.x]) {
      const text = x.t.toLowerCase();
      if (hits.length === 50 || !words.every((w) => text.includes(w))) continue;
      const at = Math.max(0, text.indexOf(words[0]) - 60), hit = make("a", x.e && x.t.slice(at, at + 200), "hit");
      hit.href = s.h + x.e;
      hit.prepend(make("b", s.t.slice(0, 80) + " "), make("small", s.a), " ");
      hits.push(hit);
    }
  }
  found.replaceChildren(...(hits.length ? hits : [make("p", "Nothing matches.")]));
  found.hidden = false;
};

// sameFolds unfolds in one element what is unfolded in another. A sub-agent's conversation does not count.
const sameFolds = (now, then) => {
  const open = $$("details:not(.inner *)", now).map((d) => d.open);
  $$("details", then).forEach((d, i) => { d.open = open[i] ?? d.open; });
};
// replace takes parts of the page from another document. What is unfolded stays so, and the focus stays where it is.
const replace = (doc, names) => {
  for (const name of names) {
    const now = $(`[data-live=${name}]`), then = $(`[data-live=${name}]`, doc);
    if (!now || !then) continue;
    enhance(then);
    sameFolds(now, then);
    if (now.innerHTML === then.innerHTML) continue;
    const top = now.scrollTop, box = $(".fold", now), focused = now.contains(document.activeElement) ? document.activeElement : null;
    if (box) $(".fold", then).replaceWith(box);
    now.replaceWith(then);
    then.scrollTop = top;
    const twin = (e) => $$(e.localName, then).find((x) => x.getAttribute("href") === e.getAttribute("href") && x.dataset.does === e.dataset.does);
    if (focused) twin(focused)?.focus({ preventScroll: true });
    if (current && now.contains(current)) current = twin(current);
  }
};
// merge puts blocks into the transcript and gives the new ones. One that changed stays unfolded.
const merge = (holder, doc) => {
  const added = [];
  for (const e of $$("[data-live=blocks] > [data-block]", doc)) {
    const old = byID(e.id), fork = e.previousElementSibling;
    if (!old) {
      if (fork?.matches(".fork")) return null; // the session goes on in another branch
      holder.append(e);
      added.push(e);
      continue;
    }
    sameFolds(old, e);
    if (old.innerHTML === e.innerHTML) continue;
    if (old === current) current = e;
    old.replaceWith(e);
  }
  return added;
};

// Live: when something was written, the page asks for what changed.
const live = () => {
  const main = $("main[data-events]");
  if (!main) return;
  const fragment = main.dataset.fragment, bar = $("[data-follow]"), follow = $("[data-do=follow]"), newest = $("[data-do=newest]");
  let following = false, fresh = 0, timer, busy = false, depth = 0;
  const count = (n) => {
    fresh = n;
    if (!newest) return;
    newest.hidden = !n;
    newest.textContent = n === 1 ? "1 new entry" : n + " new entries";
  };
  if (bar) bar.hidden = false;
  const pursue = (on) => {
    following = on;
    follow.setAttribute("aria-pressed", on);
    follow.textContent = on ? "Following" : "Follow";
    if (on) { toEnd(); count(0); } else history.scrollRestoration = "auto";
  };
  follow?.addEventListener("click", () => pursue(!following));
  // reload keeps on following: the new page begins at its end, not where this one was.
  const reload = () => {
    if (following) history.scrollRestoration = "manual";
    kept("follow", following ? location.pathname : "", "sessionStorage");
    location.reload();
  };
  if (newest) newest.onclick = () => { $(".fork.new")?.scrollIntoView({ block: "center" }); count(0); };
  // mark draws a line above the first block that is new since the page was opened, or since the last visit.
  const mark = (block) => {
    if ($(".fork.new")) return;
    const line = make("div", "", "fork new");
    line.append(make("span", "new"));
    block.before(line);
  };
  if (fragment && !location.search) {
    const here = location.pathname, ids = () => $$("[data-live=blocks] > [data-block]").map((e) => e.id), list = ids();
    const visits = () => JSON.parse(kept("visits") || "[]"), at = list.indexOf(visits().find((v) => v[0] === here)?.[1]) + 1;
    if (at && list[at]) {
      mark(byID(list[at]));
      count(list.length - at);
    }
    addEventListener("pagehide", () => kept("visits", JSON.stringify([[here, ids().pop()], ...visits().filter((v) => v[0] !== here).slice(0, 99)])));
  }
  if (follow && kept("follow", undefined, "sessionStorage") === location.pathname) pursue(true);
  kept("follow", "", "sessionStorage");
  addEventListener("scroll", () => {
    const end = innerHeight + scrollY > document.body.scrollHeight - 120;
    if (fresh && end) count(0);
    if (following && !end && scrollY < depth) pursue(false); // the reader went back
    depth = scrollY;
  }, { passive: true });

  const update = async () => {
    if (!fragment) {
      const doc = await fetched(location.href);
      again(doc);
      replace(doc, ["list", "rail", "side"]);
      return keepList();
    }
    const holder = $("[data-live=blocks]"), list = $$(":scope > [data-block]", holder), url = new URL(fragment, location.href);
    if (list.length > 4) url.searchParams.set("after", decodeURIComponent(list[list.length - 5].id)); // results may still come for the last calls
    const doc = await fetched(url), atEnd = !$("[data-more=after]");
    if (!list.length && $("[data-block]", doc)) return reload(); // its title and tree are new, too
    const added = atEnd ? merge(holder, doc) : [];
    if (!added && following) return reload();
    if (!added) {
      newest.hidden = false;
      newest.textContent = "Continues in another branch";
      newest.onclick = reload;
    } else if (added.length && !following) {
      mark(added[0]);
      count(fresh + added.length);
    }
    if (added?.length && $("[data-more=after]", doc)) soon(); // more than a page of them
    replace(doc, ["rail", "meta", "side"]);
    if (added?.length && following) toEnd();
  };
  const refresh = async () => {
    timer = 0;
    if (busy) return soon();
    busy = true;
    try { await update(); } catch { timer ||= setTimeout(refresh, 5000); } // the server may be busy
    busy = false;
  };
  const soon = () => { timer ||= setTimeout(refresh, fragment ? 60 : 1000); }; // events that never pause do not put it off
  // A list may be older than what happened: the server reads it no more often than it has time for.
  const again = (doc) => { const e = $("[data-again]", doc); if (e) timer ||= setTimeout(refresh, e.dataset.again * 1000); };
  again(document);
  // Only a page that is seen listens: a browser has few connections to a server, and pages in other tabs would use them up.
  const events = new URL(main.dataset.events, location.href);
  let source, lost = 0;
  const listen = () => {
    if (document.hidden || source) return;
    source = new EventSource(events);
    const on = (names, f) => names.split(" ").forEach((name) => source.addEventListener(name, (e) => {
      events.searchParams.set("after", e.lastEventId);
      f(name);
    }));
    on("start entry session problem", soon);
    on("reload replaced truncated", (name) => fragment || name === "reload" ? reload() : soon());
    on("removed", () => fragment ? say("This session was removed", true) : soon());
    source.onopen = () => {
      if (lost > 1) say("Connected again");
      lost = 0;
    };
    // A browser gives up after a refusal, such as that of a server with too many clients.
    source.onerror = () => {
      if (lost++) say("The connection to the server is lost; trying again", true); // the first attempt may succeed
      if (source.readyState !== EventSource.CLOSED) return;
      // A source does not say whether it wants a token.
      fetched(events, AbortSignal.timeout(4000)).catch(() => { });
      rest();
      setTimeout(listen, 5000);
    };
  };
  const rest = () => {
    source?.close();
    source = null;
  };
  listen();
  document.addEventListener("visibilitychange", () => document.hidden ? rest() : listen());
  addEventListener("pagehide", rest);
  addEventListener("pageshow", listen); // also of a page that the browser kept
};

// more puts earlier or later blocks into the page.
const more = async (link) => {
  const way = link.dataset.more, holder = $("[data-live=blocks]"), url = new URL($("main").dataset.fragment, location.href);
  url.searchParams.set(way, new URL(link.href).searchParams.get(way));
  try {
    const doc = await fetched(url), height = document.body.scrollHeight;
    holder[way === "before" ? "prepend" : "append"](...$("[data-live=blocks]", doc).childNodes);
    if (way === "before") scrollBy(0, document.body.scrollHeight - height);
    const next = $(`[data-more=${way}]`, doc);
    const focused = link === document.activeElement;
    if (next) link.replaceWith(next); else link.remove();
    if (focused) next?.focus({ preventScroll: true });
  } catch {
    location.href = link.href;
  }
};

// A sub-agent's conversation is fetched when it is unfolded. Keys and links pass its blocks by.
const unfold = async ({ target }) => {
  const src = target.dataset?.src;
  if (!src || !target.open) return;
  delete target.dataset.src;
  try {
    const doc = await fetched(src), inner = make("div", "", "inner");
    inner.append(...$("[data-live=blocks]", doc).childNodes, ...$$(".more", doc));
    for (const e of $$("*", inner)) for (const name of ["id", "data-block", "data-does", "data-more"]) e.removeAttribute(name);
    target.append(inner);
  } catch (e) {
    target.dataset.src = src;
    say(e.message);
  }
};

// turn opens a menu at the right edge to the left.
const turn = ({ target }) => {
  const box = target.matches?.(".filters .menu[open]") && target.lastElementChild;
  if (!box) return;
  box.className = "";
  if (box.getBoundingClientRect().right > root.clientWidth) box.className = "turned";
};

// An export has all branches. One path is shown at a time: the one to the entry that the address names.
const branches = () => {
  const sections = $$("section.branch");
  if (!sections.length) return;
  const from = (s) => byID(s.dataset.from);
  const show = () => {
    const target = byID(named(location));
    const path = []; // from the section with the target up to the first one
    for (let s = target?.closest("section.branch"); s && !path.includes(s); s = from(s)?.closest("section.branch")) path.unshift(s);
    for (const s of sections) s.hidden = !path.includes(s);
    [$("[data-live=blocks]"), ...path].forEach((part, i) => {
      const end = path[i] && from(path[i])?.closest("[data-block]");
      let hide = Boolean(path[i]) && !end; // a branch that begins before the first entry
      for (const e of part.children) {
        e.hidden = hide;
        hide ||= e === end;
      }
    });
    if (!target) return;
    light(target.id);
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
};

// Actions: name, keys, function. Every element with data-does is one.
const actions = () => {
  const list = $("main :is([data-block], [data-session])") ? [
    ["Next message or row", "j", () => move(1)],
    ["Previous message or row", "k", () => move(-1)],
    ["Next prompt", "J", () => move(1, "[data-prompt]")],
    ["Previous prompt", "K", () => move(-1, "[data-prompt]")],
    ["Fold or unfold", "e", foldHere],
    ["Fold or unfold all", "E", () => fold($$(foldable))],
  ] : [];
  list.push(["Go to the end", "G", () => {
    const last = blocks().at(-1);
    if (last) select(last);
    toEnd();
  }]);
  if (listed().length) list.push(["Next session in the list", "]", () => session(1)], ["Previous session in the list", "[", () => session(-1)]);
  const input = $("form.search input");
  if (input) list.unshift(["Search", "/", () => input.select()]);
  for (const e of $$("[data-does]")) {
    const name = e.dataset.does;
    if (!list.some((a) => a[0] === name)) list.push([name, e.dataset.keys || "", () => nearest(name).click()]);
  }
  return list;
};
// nearest gives the element of an action that is closest to the current block.
const nearest = (name) => {
  const top = (e) => e.getBoundingClientRect().top, middle = current ? top(current) : innerHeight / 3;
  const all = $$("[data-does]").filter((e) => e.dataset.does === name);
  return all.sort((a, b) => Math.abs(top(a) - middle) - Math.abs(top(b) - middle))[0];
};
const menu = () => {
  const dialog = make("dialog"), input = make("input"), ul = make("ul");
  Object.assign(input, { type: "search", placeholder: "Type to find an action", ariaLabel: "Find an action" });
  dialog.ariaLabel = "Keys and actions";
  dialog.append(input, ul);
  const all = actions();
  const fill = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    ul.replaceChildren(...all.filter(([name]) => words.every((w) => name.toLowerCase().includes(w))).map(([name, keys, run]) => {
      const li = make("li"), button = make("button", name);
      if (keys) button.append(make("kbd", keys));
      button.addEventListener("click", () => { dialog.close(); run(); });
      li.append(button);
      return li;
    }));
  };
  input.addEventListener("input", fill);
  dialog.addEventListener("keydown", (e) => {
    const list = $$("button", ul), i = list.indexOf(document.activeElement);
    if (e.key === "ArrowDown") list[i < 0 ? 1 : i + 1]?.focus();
    else if (e.key === "ArrowUp") (list[i - 1] || input).focus();
    else if (e.key === "Enter" && i < 0) list[0]?.click();
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
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key === "k" && !$("dialog[open]")) {
    e.preventDefault();
    menu();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]") || e.target.closest("input:not([type=checkbox]), textarea, select")) return;
  if (e.key === "Escape") {
    closeMenus();
    current?.classList.remove("now");
    current = null;
  }
  if (e.key.length !== 1) return;
  const typed = prefix + e.key, list = actions(), action = list.find((a) => a[1] === typed);
  prefix = list.some((a) => a[1].startsWith(typed + " ")) ? typed + " " : "";
  if (!action) return;
  e.preventDefault();
  action[2]();
};
const closeMenus = (but) => {
  for (const d of $$("details.menu[open]")) {
    if (but && d.contains(but)) continue;
    if (!but && d.contains(document.activeElement)) $("summary", d).focus();
    d.open = false;
  }
};
const onClick = (e) => {
  closeMenus(e.target);
  const b = e.target.closest("[data-copy], [data-do], [data-more]");
  if (!b) return;
  if (b.dataset.copy) copy(b.dataset.copy, "Command");
  if (b.dataset.more && $("main").dataset.fragment) { e.preventDefault(); more(b); }
  if (b.dataset.do === "theme") nextTheme();
  if (b.dataset.do === "menu") menu();
  if (b.dataset.do === "link") copy($(".who a", block())?.href || location.href, "Link");
};
// What needs this script is hidden until it runs.
const enhance = (part) => { for (const e of $$("[data-does][hidden]", part)) e.hidden = false; };

// arrive shows the entry that the address names. The server is asked once for one that is not in the page.
const arrive = () => {
  const id = named(location), url = new URL(location.href);
  if (byID(id)) return light(id);
  if (!id || !$("main[data-fragment]") || url.searchParams.has("at")) return;
  url.searchParams.set("at", decodeURIComponent(id));
  location.replace(url);
};

document.addEventListener("DOMContentLoaded", () => {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("toggle", unfold, true);
  document.addEventListener("toggle", turn, true);
  enhance();
  keepList();
  searching();
  live();
  branches();
  const box = $(".fold");
  if (box) {
    box.checked = kept("rail") && innerWidth > 820;
    box.addEventListener("change", () => kept("rail", box.checked && innerWidth > 820 ? "folded" : ""));
    const here = $(".graph [aria-current]");
    if (here) light(named(here));
  }
  addEventListener("hashchange", arrive);
  arrive();
});
