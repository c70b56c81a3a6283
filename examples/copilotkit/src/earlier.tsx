import { useThreads } from "@copilotkit/react-core/v2";

/** The conversations that the server has kept, newest first. */
export function Earlier() {
  const { threads, deleteThread } = useThreads({ agentId: "default", limit: 10 });
  return (
    <nav>
      <h2>Conversations</h2>
      <a href={location.pathname}>a new one</a>
      <ul>
        {threads.map(({ id, name }) => (
          <li key={id}>
            <a href={`?thread=${id}`}>{name ?? id}</a> <button onClick={() => deleteThread(id)}>delete</button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
