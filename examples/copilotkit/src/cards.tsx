import { keepKey } from "./place";

type Found = { item: string; status: string };

/** A server tool's call, and its result once it is there. */
export function OrderCard({ number, result }: { number?: string; result?: string }) {
  const found: Found | undefined = result ? JSON.parse(result) : undefined;
  return (
    <section className="card" data-testid="order">
      <b>{number ?? "…"}</b> {found ? `${found.item}: ${found.status}` : "looking …"}
    </section>
  );
}

type Asked = { question: string; onAnswer: (approved: boolean) => void };

/** The run waits on the server for this answer, also over a reload. */
export function Approval({ question, onAnswer }: Asked) {
  return (
    <section className="card" data-testid="approval">
      <p>{question}</p>
      <button onClick={() => onAnswer(true)}>Yes</button> <button onClick={() => onAnswer(false)}>No</button>
    </section>
  );
}

/** What went wrong, and a place for the key that a server may want. */
export function Failure({ message, onClose }: { message: string; onClose: () => void }) {
  return (
    <aside className="failure" role="alert">
      <p>{message}</p>
      <form action={(given) => keepKey(String(given.get("key")))}>
        <input name="key" type="password" placeholder="key, if the server wants one" autoComplete="off" />
        <button>Use</button> <button type="button" onClick={onClose}>Close</button>
      </form>
    </aside>
  );
}
