// GraphiQL for this address. Where the server has keys the page asks for one: it is kept for as long as the tab
// lives, shared with the playground, and goes into a header, never into an address.

const { React, ReactDOM, GraphiQL } = globalThis;
const KEY = "rightseat.key";
const HERE = "On this page: write it into the box at the top.";
const form = document.getElementById("key");
const root = ReactDOM.createRoot(document.getElementById("graphiql"));

// The library that keeps a page still under an open dialog writes a <style>, and takes its nonce from here.
globalThis.__webpack_nonce__ = document.querySelector("link[nonce]").nonce;

const AGENTS = `# Who answers here. Ctrl-Enter runs it, Ctrl-Space says what else there is.
query Agents {
  availableAgents {
    agents {
      name
      description
    }
  }
}
`;
const STREAM = `# An answer as it comes, word by word; the question stands in the variables.
mutation Ask($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    threadId
    messages @stream {
      ... on TextMessageOutput {
        content @stream
      }
    }
    ... @defer {
      status {
        ... on BaseResponseStatus {
          code
        }
      }
    }
  }
}
`;
const EVENTS = `# The same as events: a subscription, sent as graphql-sse does.
subscription Events($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    type
    ... on TextMessageContent {
      content
    }
    ... on CopilotResponseFinished {
      response {
        messages {
          ... on TextMessageOutput {
            content
          }
        }
      }
    }
  }
}
`;
const QUESTION = {
  data: {
    metadata: { requestType: "Chat" },
    frontend: { actions: [] },
    messages: [
      { id: "1", createdAt: "2026-01-01T00:00:00.000Z", textMessage: { role: "user", content: "Hello" } },
    ],
  },
};

async function ask(address, options) {
  const headers = new Headers(options.headers);
  const key = sessionStorage.getItem(KEY);
  if (key && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  const answer = await fetch(address, { ...options, headers });
  form.hidden = answer.status !== 401;
  if (answer.status !== 401) return answer;
  const { message = "This server needs a key." } = await answer.json().catch(() => ({}));
  form.querySelector("[role=status]").textContent = key ? message : "";
  return Response.json({ errors: [{ message: `${message} ${HERE}` }] }, { status: 401 });
}

async function* subscribe(asked, extra) {
  const headers = { "content-type": "application/json", accept: "text/event-stream", ...extra };
  const answer = await ask(location.pathname, { method: "POST", headers, body: JSON.stringify(asked) });
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    yield await answer.json();
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = (text + part.value).split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const [event, data] = block.split("\n");
        if (event === "event: complete") return;
        if (event === "event: next") yield JSON.parse(data.slice("data: ".length));
      }
    }
  } finally {
    reader.cancel();
  }
}

function isSubscription(asked) {
  let definitions;
  try {
    ({ definitions } = GraphiQL.GraphQL.parse(asked.query));
  } catch {
    return false; // the server says what is wrong with it
  }
  const chosen = definitions.filter((one) => !asked.operationName || one.name?.value === asked.operationName);
  return chosen.some((one) => one.kind === "OperationDefinition" && one.operation === "subscription");
}

function named(asked) {
  // GraphiQL reads the operation's name a tenth of a second after its document has changed: who runs a document
  // sooner would send the name of the one before it, which may be another tab's (graphql/graphiql#1807).
  let names;
  try {
    const { definitions } = GraphiQL.GraphQL.parse(asked.query);
    names = definitions.filter((one) => one.kind === "OperationDefinition").map((one) => one.name?.value);
  } catch {
    return asked; // the server says what is wrong with it
  }
  if (names.includes(asked.operationName)) return asked;
  return { ...asked, operationName: names.length === 1 ? names[0] : undefined };
}

function draw() {
  // A new fetcher makes GraphiQL read the schema anew.
  const send = GraphiQL.createFetcher({ url: location.pathname, fetch: ask });
  const fetcher = (given, options) => {
    const asked = named(given);
    return isSubscription(asked) ? subscribe(asked, options?.headers) : send(asked, options);
  };
  const variables = JSON.stringify(QUESTION, null, 2);
  const defaultTabs = [{ query: AGENTS }, { query: STREAM, variables }, { query: EVENTS, variables }];
  root.render(React.createElement(GraphiQL, { fetcher, defaultTabs, defaultEditorToolsVisibility: "variables" }));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = form.querySelector("input");
  sessionStorage.setItem(KEY, input.value);
  input.value = "";
  draw();
});

draw();
