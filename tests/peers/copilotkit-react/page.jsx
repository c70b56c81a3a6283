import { createRoot } from "react-dom/client";
import { CopilotKit } from "@copilotkit/react-core";
import { CopilotChat } from "@copilotkit/react-ui";

export { cases, log } from "./cases.jsx";

export function open(url, Part, { instructions, ...props } = {}) {
  const root = createRoot(document.getElementById("root"));
  root.render(
    <CopilotKit runtimeUrl={`${url}/copilotkit`} headers={{ Authorization: "Bearer ada-key" }} {...props}>
      <div className="page">{Part && <Part />}</div>
      <CopilotChat instructions={instructions} />
    </CopilotKit>,
  );
  return root;
}
