// Drives the page that bundle.mjs made: `drive.mjs HOME GENERATION URL`, then one `CASE MODE` per line of
// stdin (MODE is ignored). The first line out names the version; then each case answers with one JSON line: what
// the person saw at each turn, what the page's own code ran, what the page told its console, and what one waited
// for in vain.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Person } from "./person.mjs";
import { openWindow, Wire } from "./window.mjs";

const [home, generation, url] = process.argv.slice(2);
const about = `${home}/node_modules/copilotkit-ui-${generation}/package.json`;
const { version } = JSON.parse(readFileSync(about, "utf8"));
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const told = [];
const note = (level, words) => {
  told.push([level, words.map((word) => String(word?.stack ?? word)).join(" ").slice(0, 500)]);
};
for (const level of ["error", "warn", "log", "info", "debug"]) {
  console[level] = (...words) => note(level, words);
}
for (const kind of ["unhandledRejection", "uncaughtException"]) process.on(kind, (error) => note(kind, [error]));

openWindow(home);
const wire = new Wire();
const { cases, log, open } = await import(`${home}/built/${generation}.mjs`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

class Page extends Person {
  turns = [];
  told = told;

  constructor(name) {
    super();
    this.name = name;
  }

  // Nobody types before the page has what it asks for first: what is said before that is lost.
  async open(Part, props) {
    const before = wire.asked;
    this.root = open(url, Part, props);
    await this.until("a first request", () => wire.asked > before);
    await this.calm(() => wire.open > 0);
  }

  // For a page that never stops asking.
  async openRestless(Part, props) {
    const before = wire.connected;
    this.root = open(url, Part, props);
    await this.until("its thread", () => wire.connected > before + 2);
  }

  say(words) {
    return super.say(words.replace("{0}", `${generation} ${this.name}`));
  }

  // Words, what must then be seen and where, and what else the person does before.
  async speak([words, awaited, where = ".copilotKitAssistantMessage", more]) {
    await this.say(words);
    await more?.(this);
    await this.sees(awaited, where);
    await this.rest();
    this.turns.push(this.look());
  }

  now() {
    return lines.next();
  }

  close() {
    this.root?.unmount();
    document.getElementById("root").replaceChildren();
  }
}

answer({ version });
for (let line; !(line = await lines.next()).done; ) {
  const [name] = line.value.split(" ");
  const page = new Page(name);
  log.length = told.length = 0;
  try {
    await cases[name](page);
  } catch (error) {
    page.late.push(String(error.stack));
  }
  page.close();
  answer({ turns: page.turns, late: page.late, log, told });
}
process.exit(0);
