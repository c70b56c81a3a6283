// A conversation as a `scripted:` file, which answers as the model did.

import { parsed } from "./values.js";

/** Each round of the model is a turn of the script: its words and its calls, by what came before them. */
export function script(talk) {
  const turns = [];
  let when = {};
  let round = null;
  for (const item of talk.items) {
    if (item.kind === "message" && item.role === "user") {
      when = { user: `^${escaped(item.text)}$` };
      round = null;
    } else if (item.kind === "message" || (item.kind === "call" && item.ended)) {
      const id = item.kind === "call" ? item.parent : item.id;
      if (round?.id !== id) {
        if (round?.answered) when = { user: when.user, tool: round.answered };
        round = { id, turn: { when } };
        turns.push(round.turn);
      }
      include(round, item);
    }
  }
  return { turns: turns.filter((turn) => turn.say || turn.calls) };
}

function include(round, item) {
  if (item.kind === "message") {
    round.turn.say = (round.turn.say ?? "") + item.text;
    return;
  }
  const given = parsed(item.args || "{}");
  (round.turn.calls ??= []).push({ name: item.name, arguments: given });
  // Results come in the calls' order: the next round is asked after the last of them.
  if (item.result !== undefined) round.answered = item.name;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
