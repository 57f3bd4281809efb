const form = document.getElementById("sign-in");
const problem = document.getElementById("problem");
const field = form.elements.namedItem("token");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  const token = field.value.trim();
  try {
    const reply = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (reply.ok) {
      // The same address again, now with the cookie.
      location.reload();
      return;
    }
    const told = await reply.json().catch(() => null);
    problem.textContent = told?.error?.message ?? `The service answered ${reply.status}.`;
  } catch {
    problem.textContent = "The service does not answer.";
  }
  field.select();
});
