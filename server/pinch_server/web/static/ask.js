// Questions to the service; every answer is plain data, every failure an Unanswered.

export class Unanswered extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function ask(path, fields = {}) {
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== "" && value != null));
  const address = `/api/v1/${path}${query.size ? `?${query}` : ""}`;
  return answered(() => fetch(address, { headers: { Accept: "application/json" } }));
}

export async function send(method, path, body) {
  const head = { "Content-Type": "application/json" };
  return answered(() => fetch(path, { method, headers: head, body: JSON.stringify(body) }));
}

async function answered(request) {
  let reply;
  try {
    reply = await request();
  } catch {
    throw new Unanswered(0, "UNREACHABLE", "the service does not answer");
  }
  const told = await reply.json().catch(() => null);
  if (reply.ok) return told;
  if (reply.status === 401) location.reload();
  throw new Unanswered(reply.status, told?.error?.code ?? "", told?.error?.message ?? `status ${reply.status}`);
}
