import { useState } from "react";
import { createRoot } from "react-dom/client";
import { CopilotKitProvider, CopilotSidebar } from "@copilotkit/react-core/v2";

import "@copilotkit/react-core/v2/styles.css";
import "./style.css";
import { Failure } from "./cards";
import { Desk } from "./desk";
import { headers, runtimeUrl, thread } from "./place";

const threadId = thread();

// The inspector, which CopilotKit shows on a developer's machine, asks its maker's servers for news: off.

function App() {
  const [failure, setFailure] = useState("");
  return (
    <CopilotKitProvider
      runtimeUrl={runtimeUrl}
      headers={headers()}
      onError={({ error }) => setFailure(error.message)}
      enableInspector={false}
    >
      <Desk />
      <CopilotSidebar threadId={threadId} defaultOpen labels={{ modalHeaderTitle: "Order desk" }} />
      {failure && <Failure message={failure} onClose={() => setFailure("")} />}
    </CopilotKitProvider>
  );
}

createRoot(document.getElementById("desk")!).render(<App />);
