"""Fallback page for trying queries if GraphiQL's files are missing. It loads no other resources."""

FALLBACK_CSP = (
    b"default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FALLBACK_PAGE = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>rightseat: GraphQL</title>
<style>
body{font:14px system-ui;margin:1rem;display:grid;grid-template-columns:1fr 1fr;gap:1rem}
h1{grid-column:1/3;font-size:1.1rem;margin:0}
textarea,pre{box-sizing:border-box;width:100%;font:13px ui-monospace,monospace;margin:0 0 .5rem}
textarea{height:60vh}#variables{height:15vh}#key{width:16rem}
pre{border:1px solid #999;padding:.5rem;overflow:auto;max-height:80vh;white-space:pre-wrap}
</style>
<h1>CopilotKit's GraphQL, at this address</h1>
<div>
<textarea id="query" aria-label="query" spellcheck="false">
{ availableAgents { agents { name description } } }</textarea>
<textarea id="variables" aria-label="variables" spellcheck="false">{}</textarea>
<input id="key" type="password" placeholder="key, if one is needed" autocomplete="off">
<button id="run">Run</button>
<p>For GraphiQL in its place: <code>make assets</code>, which needs npm, and start the server again.</p>
</div>
<pre id="answer" aria-live="polite"></pre>
<script>
const $ = (id) => document.getElementById(id);
$("run").onclick = async () => {
  const headers = {"content-type": "application/json", accept: "application/json, text/event-stream"};
  if ($("key").value) headers.authorization = "Bearer " + $("key").value;
  try {
    const variables = JSON.parse($("variables").value || "{}");
    const body = JSON.stringify({query: $("query").value, variables});
    const answer = await fetch(location.pathname, {method: "POST", headers, body});
    $("answer").textContent = "";
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      $("answer").textContent += value;
    }
    try { $("answer").textContent = JSON.stringify(JSON.parse($("answer").textContent), null, 2); } catch {}
  } catch (error) { $("answer").textContent = String(error); }
};
</script>
"""
