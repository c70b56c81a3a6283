/** Where the copilot is, which conversation this page shows, and the key it speaks with. */

const KEY = "rightseat-key";

/** The server's address stands in index.html, so that the same build serves every server. */
export const runtimeUrl = document.querySelector<HTMLMetaElement>('meta[name="rightseat"]')!.content;

/** The conversation is in the page's address: a reload shows it again, and a link shares it. */
export function thread(): string {
  const here = new URL(location.href);
  const known = here.searchParams.get("thread");
  if (known) return known;
  const made = crypto.randomUUID();
  here.searchParams.set("thread", made);
  history.replaceState(null, "", here);
  return made;
}

export function headers(): Record<string, string> {
  const key = sessionStorage.getItem(KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export function keepKey(key: string): void {
  sessionStorage.setItem(KEY, key);
  location.reload();
}
