// The icons: one path each on a grid of 24, drawn as a line in the colour of the text.

import { s } from "./dom.js";

const PATHS = {
  chat: "M20 11.5a7.5 7.5 0 0 1-11.2 6.5L4 19.5l1.4-4.4A7.5 7.5 0 1 1 20 11.5z",
  flow: "M4 4.5h6v5H4zM14 14.5h6v5h-6zM7 9.5v4a3.5 3.5 0 0 0 3.5 3.5H14",
  model:
    "M8 8h8v8H8zM5.5 5.5h13v13h-13zM9.5 2.5v3M14.5 2.5v3M9.5 18.5v3M14.5 18.5v3M2.5 9.5h3M2.5 14.5h3M18.5 9.5h3M18.5 14.5h3",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  connect: "M10 14l4-4M8.5 11.5l-3 3a3.5 3.5 0 0 0 5 5l3-3M15.5 12.5l3-3a3.5 3.5 0 0 0-5-5l-3 3",
  api: "M8.5 4c-2 0-2.5 1-2.5 2.5v3c0 1.5-.8 2.5-2 2.5 1.2 0 2 1 2 2.5v3c0 1.5.5 2.5 2.5 2.5M15.5 4c2 0 2.5 1 2.5 2.5v3c0 1.5.8 2.5 2 2.5-1.2 0-2 1-2 2.5v3c0 1.5-.5 2.5-2.5 2.5",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20",
  plus: "M12 5v14M5 12h14",
  x: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  minus: "M5 12h14",
  up: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  clip: "M19.5 11.5l-7.8 7.8a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-8 8a1.5 1.5 0 0 1-2.2-2.1l7.2-7.2",
  tool: "M14.5 6.5a4 4 0 0 1 5-3.9l-2.6 2.6.4 1.9 1.9.4 2.6-2.6a4 4 0 0 1-5.3 4.8l-8.3 8.3a2 2 0 0 1-2.9-2.9l8.3-8.3a4 4 0 0 1 .9-.3z",
  clock: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM12 7.5V12l3 2",
  down: "M6.5 9.5L12 15l5.5-5.5",
  right: "M9.5 6.5L15 12l-5.5 5.5",
  left: "M14.5 6.5L9 12l5.5 5.5",
  updown: "M8 9.5L12 5.5l4 4M8 14.5l4 4 4-4",
  copy: "M8.5 8.5h11v11h-11zM5.5 15.5h-1v-11h11v1",
  edit: "M4 20l1-4.5L16.5 4 20 7.5 8.5 19zM14 6.5l3.5 3.5",
  more: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  lang: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM3.5 12h17M12 3.5c2.5 2.5 3.5 5.3 3.5 8.5s-1 6-3.5 8.5c-2.5-2.5-3.5-5.3-3.5-8.5s1-6 3.5-8.5z",
  trace: "M4 6h9M8 12h9M12 18h8",
  panel: "M3.5 5h17v14h-17zM14.5 5v14",
  down2: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  play: "M8 5.5l10 6.5-10 6.5z",
  history: "M4 12a8 8 0 1 0 2.6-5.9L4 8.5M4 4v4.5h4.5M12 8v4.5l3 1.8",
  shield: "M12 3.5l7 2.5v5.5c0 4.3-2.9 7.6-7 9-4.1-1.4-7-4.7-7-9V6z",
  warn: "M12 4l9 15.5H3zM12 10v4M12 16.9h.01",
  book: "M5 4.5h11a3 3 0 0 1 3 3v12H8a3 3 0 0 1-3-3zM5 16.5a3 3 0 0 1 3-2.5h11",
  file: "M6 3.5h8l4.5 4.5v12.5H6zM13.5 3.5V8.5h5",
  table: "M3.5 5h17v14h-17zM3.5 10h17M3.5 14.5h17M9.5 10v9",
  chart: "M4 20h16M7 20v-7M12 20V5M17 20v-10",
  branch:
    "M7 8.5v7M7 8.5a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.5zM7 20a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.5zM17 8.5a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.5zM17 8.5c0 4-6 3.5-9.5 7.2",
  retry: "M20 12a8 8 0 1 1-2.6-5.9L20 8.5M20 4v4.5h-4.5",
  skip: "M5 6l7 6-7 6zM15 6v12M19 6v12",
  pin: "M9 4h6l-1 6 3 3v1.5H7V13l3-3zM12 14.5V20",
  box: "M4 8h16v11.5H4zM3 4.5h18V8H3zM10 12h4",
  trash: "M5 7h14M9.5 7V4.5h5V7M7 7l1 12.5h8L17 7",
  key: "M15 14a5 5 0 1 0-4.6-3L4 17.5V20h3l1-1v-2h2l2.5-2.5A5 5 0 0 0 15 14zM16 8.5h.01",
  ext: "M13 5h6v6M19 5l-9 9M10 6H5v13h13v-5",
  menu: "M4 7h16M4 12h16M4 17h16",
  filter: "M4 6h16l-6 7v6l-4-2v-4z",
  bolt: "M13 3L5 13.5h6L10.5 21 19 10.5h-6z",
  image: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15.5 9.5h.01",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  cloud: "M7 18.5a4.5 4.5 0 0 1-.6-9 6 6 0 0 1 11.4 1.2A4 4 0 0 1 17.5 18.5z",
  mach: "M4 5h16v11H4zM9 20h6M12 16v4",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
  think: "M9.5 18h5M10 21h4M8.5 15.5a6 6 0 1 1 7 0c-.7.6-1 1.3-1 2.5h-5c0-1.2-.3-1.9-1-2.5z",
  share: "M12 15V4M8 7.5L12 4l4 3.5M5 13v7h14v-7",
  hand: "M8 12V6a1.5 1.5 0 0 1 3 0v5V4.5a1.5 1.5 0 0 1 3 0V11V6a1.5 1.5 0 0 1 3 0v8c0 4-2 6.5-5.5 6.5-3 0-4.5-1.5-6-4.5l-1.5-3c-.7-1.5 1-2.5 2-1.2z",
  home: "M4 11l8-7 8 7v9H4z",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  save: "M5 4h11l3 3v13H5zM8.5 4v5h6V4M8.5 20v-6h7v6",
  code: "M8.5 7L3.5 12l5 5M15.5 7l5 5-5 5",
};

/** icon("search"), icon("check", "xs"): sizes are "" (18), "s" (16) and "xs" (14); "fat" for dots. */
export function icon(name, size = "") {
  const path = s("path", { d: PATHS[name] ?? PATHS.dots });
  return s("svg", { class: `i ${size}`.trim(), viewBox: "0 0 24 24", "aria-hidden": "true" }, path);
}

/** The mark: two seats from above; the right one is ours. */
export function mark() {
  const seat = (x, y, width, height, ours) =>
    s("rect", { x, y, width, height, rx: 2.25, class: ours ? "ours" : "other" });
  return s(
    "svg",
    { class: "mark", viewBox: "0 0 24 24", "aria-hidden": "true" },
    seat(2.75, 3.5, 7.5, 9.25, false),
    seat(2, 14.5, 9, 5, false),
    seat(13.75, 3.5, 7.5, 9.25, true),
    seat(13, 14.5, 9, 5, true),
  );
}
