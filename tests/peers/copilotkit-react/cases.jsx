// What people do on pages with CopilotKit. Each case leaves in `page.turns` what they saw.
import { action, all, card, Decision, log, Readable, State, StateInChat, watched } from "./parts.jsx";
import { interrupt, question, Suggestions, Task, Textarea } from "./parts.jsx";

export { log };

const ASSISTANT = ".copilotKitAssistantMessage";
const FIRST = GENERATION === "1.10";
// 1.50 shows questions only of an agent that was named, and 1.10 asks only for such a one's thread.
const NAMED = GENERATION === "newest" ? {} : { agent: "default" };

// Another model: the first generation can ask for it without naming an agent.
const model = (name) => (FIRST ? { forwardedParameters: { model: name } } : { agent: name });

const locate = (result) => all(action("locate", "detail", result), action("clock", "zone", () => "noon"));
const oslo = () => "Oslo";
const press = (words) => async (page) => {
  await page.sees(words, "button");
  page.turns.push(page.look());
  await page.press(words);
};

async function stop(page) {
  await page.until("a button that stops", () => page.busy);
  page.turns.push(page.look());
  await page.now();
  page.find("[data-copilotkit-in-progress=true]").click();
  await page.rest();
  page.turns.push(page.look());
}

const talk =
  (Part, props, ...steps) =>
  async (page) => {
    await page.open(Part, props);
    for (const step of steps) await page.speak(step);
  };
const asking = (answer, Part, ...step) =>
  talk(Part ? all(Part, question(answer)) : question(answer), NAMED, [...step, ASSISTANT, press("Answer")]);

// The page is left and opened again: the thread is what the server kept of it.
const reload = (Part, props, before, after) => async (page) => {
  const thread = { ...props, threadId: `${page.name}-${GENERATION}` };
  await talk(Part, thread, ...before)(page);
  page.close();
  await page.open(Part, thread);
  await page.sees(before.at(-1)[1]);
  await page.rest();
  page.turns.push(page.look());
  await page.speak(after);
};

// Another answer is asked for, and then the page is left and opened again.
async function regenerated(page) {
  const thread = { ...NAMED, threadId: `${page.name}-${GENERATION}` };
  await talk(card("add"), thread, HELLO, SUM)(page);
  const [again] = [...document.querySelectorAll("[aria-label='Regenerate response']")].slice(-1);
  let pressed = false;
  await page.moment("the old answer's end", () => {
    if (pressed) return !page.find(ASSISTANT, SUM[1]);
    pressed = true;
    again.click();
    return false;
  });
  await page.sees(SUM[1], ASSISTANT);
  await page.rest();
  page.turns.push(page.look());
  page.close();
  await page.open(card("add"), thread);
  await page.sees(SUM[1], ASSISTANT);
  await page.rest();
  page.turns.push(page.look());
  await page.speak(OBJECT);
}

// The question of before is still there, and can be answered.
async function reload_asked(page) {
  const thread = { ...NAMED, threadId: `${page.name}-${GENERATION}` };
  await page.open(question("Ada"), thread);
  await page.say("question");
  await page.sees("Answer", "button");
  page.turns.push(page.look());
  page.close();
  await page.open(question("Ada"), thread);
  await press("Answer")(page);
  await page.sees("Hello Ada.", ASSISTANT);
  await page.rest();
  page.turns.push(page.look());
}

// The page is left in the middle of an answer: it goes on meanwhile, and can be stopped from the new page.
async function leave_rejoined(page) {
  const thread = { ...model("endless"), threadId: `${page.name}-${GENERATION}` };
  await page.open(null, thread);
  await page.say("go");
  await page.sees("w0", ASSISTANT);
  page.close();
  await page.open(null, thread);
  await page.sees("w0w0", ASSISTANT);
  await stop(page);
  page.close();
  await page.open(null, thread);
  await page.sees("w0w0", ASSISTANT);
  await page.rest();
  page.turns.push(page.look());
}

const leave = (words, awaited) => async (page) => {
  await page.open(null, model("endless"));
  await page.say(words);
  if (awaited) await page.sees(awaited, ASSISTANT);
  await stop(page);
};

// The later generations ask before anything is said, and then have nobody to talk to.
async function wrong_key(page) {
  await page.open(null, { headers: { Authorization: "Bearer wrong" } });
  if (FIRST) await page.say("hello");
  await page.until("a refusal", () => page.told.concat(page.look().beside).flat().join().includes("not known here"));
  page.turns.push(page.look());
}

async function markdown(page) {
  await talk(null, {}, ["markdown", "The end."])(page);
  const count = (tag) => page.find(ASSISTANT).querySelectorAll(tag).length;
  const tags = ["h1", "strong", "li", "table", "code", "[onerror]"];
  page.turns.push({ tags: Object.fromEntries(tags.map((tag) => [tag, count(tag)])), broken: window.broken ?? false });
}

async function task(page) {
  await page.open(Task);
  await page.press("Run the task");
  await page.until("the task's end", () => log.at(-1)?.[0] === "ran");
  page.turns.push(page.look());
}

// The newest client shows suggestions only for moments: each that is shown connects again, and that fetches anew.
async function suggestions(page) {
  await (GENERATION === "newest" ? page.openRestless(Suggestions) : page.open(Suggestions));
  await page.moment("two suggestions", () => {
    const shown = [...document.querySelectorAll("button.suggestion:enabled")];
    if (shown.length < 2) return false;
    page.turns.push({ ...page.look(), suggested: shown.map((one) => one.textContent) });
    shown[0].click();
    return true;
  });
  await page.sees("é漢😀", ASSISTANT);
  await page.rest();
  page.turns.push(page.look());
}

async function textarea(page) {
  await page.open(Textarea);
  await page.sees("Dear", "[data-slate-string]");
  const field = page.find("[contenteditable]");
  const words = page.find("[data-slate-string]").firstChild;
  field.focus();
  window.getSelection().setBaseAndExtent(words, words.length, words, words.length);
  document.dispatchEvent(new window.Event("selectionchange"));
  await page.sees("Sir or Madam");
  page.turns.push({ letter: field.textContent.replaceAll("\ufeff", "") });
}

const HELLO = ["hello", "é漢😀"];
const SUM = ["sum", "That makes 5."];
const OBJECT = ["object", "Described."];
const TEXT = ["fault-ok", "w0 w1 w2"];

export const cases = {
  text: talk(null, {}, HELLO, ["hello again", "é漢😀"]),
  long_text: talk(null, model("faulty"), ["fault-ok:count=2000", "w1999"]),
  markdown,
  named_agent: talk(locate(oslo), { agent: "default" }, HELLO, ["where am i", "You are in Oslo."]),
  server_tool: talk(card("add"), {}, SUM),
  object_result: talk(card("describe"), {}, OBJECT),
  void_result: talk(card("forget"), {}, ["void", "Forgotten."]),
  failing_tool: talk(card("stumble"), {}, ["stumble", "The tool said"]),
  wrong_json: talk(card("add"), {}, ["wrong json", "The tool said"]),
  client_tool: talk(locate(oslo), {}, ["where am i", "You are in Oslo."]),
  client_number: talk(locate(() => 42), {}, ["where am i", "You are in 42."]),
  client_object: talk(locate(() => ({ city: "Oslo" })), {}, ["where am i", "You are in"]),
  client_void: talk(locate(() => undefined), {}, ["where am i", "You are in"]),
  client_error: talk(
    locate(() => {
      throw new Error("no map");
    }),
    {},
    ["where am i", FIRST ? "You are in" : "no map", "body"],
    HELLO,
  ),
  two_calls: talk(locate(oslo), {}, ["pair", "It is noon."]),
  both: asking({ approved: true }, locate(oslo), "both {0}", "Booked"),
  mixed: talk(all(card("add"), locate(oslo)), {}, ["mixed", "It is noon."]),
  single_endpoint: talk(locate(oslo), { useSingleEndpoint: true }, HELLO, ["where am i", "You are in Oslo."]),
  render: talk(watched("locate", "detail", oslo), {}, ["typed", "You are in Oslo."]),
  decision: talk(Decision, {}, ["where am i", "You are in Rome.", ASSISTANT, press("Say Rome")]),
  question: asking("Ada", null, "question", "Hello Ada."),
  interrupt: talk(interrupt("Ada"), {}, ["question", "Hello Ada.", ASSISTANT, press("Answer")]),
  approved: asking({ approved: true }, null, "book {0}", "Booked"),
  denied: asking({ approved: false }, null, "book {0}", "did not allow"),
  state: asking("Oslo", State, "trip {0}", "Bought: Oslo."),
  state_in_chat: asking("Oslo", StateInChat, "trip {0}", "Bought: Oslo."),
  readable: talk(Readable, model("mirror"), ["mirror", "mauve"]),
  instructions: talk(null, { ...model("mirror"), instructions: "Be a pirate." }, ["mirror", "pirate"]),
  upstream_401: talk(null, model("faulty"), ["fault-401", "refused our key", "body"], TEXT),
  upstream_500: talk(null, model("faulty"), ["fault-500", "HTTP 500", "body"], TEXT),
  dead_midway: talk(null, model("faulty"), ["fault-reset", "ended before", "body"], TEXT),
  public_key: talk(null, { headers: {}, publicApiKey: "ada-key" }, HELLO),
  wrong_key,
  reload: reload(card("add"), NAMED, [HELLO, SUM], OBJECT),
  reload_tool: reload(locate(oslo), NAMED, [["where am i", "You are in Oslo."], HELLO], SUM),
  reload_failed: reload(null, { agent: "faulty" }, [["fault-reset", "ended before", "body"], TEXT], ["more", "w0"]),
  reload_asked,
  regenerated,
  thoughts: reload(null, NAMED, [["think", "Thought through."]], HELLO),
  task,
  suggestions,
  textarea,
  leave: leave("go", "w0"),
  leave_waiting: leave("wait"),
  leave_rejoined,
};
