// The server: requests, and what it tells by itself.

const PATIENCE = 15_000;

export class Refused extends Error {
  constructor(status, message, interaction) {
    super(message);
    this.status = status;
    this.interaction = interaction;
  }
}

export async function call(method, path, body) {
  const options = { method, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refused(0, "The server cannot be reached.");
  }
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, found.error?.message ?? `The server answered ${response.status}.`, found.interaction);
  return found;
}

/** Keeps a stream open through restarts of the server. */
export class Live {
  #source = null;
  #again = null;
  #wait = 500;

  constructor({ opened, changed, lost }) {
    this.opened = opened;
    this.changed = changed;
    this.lost = lost;
  }

  start() {
    this.stop();
    this.#source = new EventSource("/api/stream");
    this.#source.addEventListener("open", () => {
      this.#wait = 500;
      this.opened();
    });
    this.#source.addEventListener("interaction", (event) => this.changed(JSON.parse(event.data)));
    this.#source.addEventListener("error", () => this.#broken());
  }

  stop() {
    clearTimeout(this.#again);
    this.#source?.close();
    this.#source = null;
  }

  #broken() {
    this.stop();
    this.lost();
    // Full jitter: after a restart not every page comes back in the same moment.
    this.#again = setTimeout(() => this.start(), 100 + Math.random() * this.#wait);
    this.#wait = Math.min(this.#wait * 2, 5000);
  }
}
