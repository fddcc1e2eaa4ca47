import { useState } from "preact/hooks";
import { Problem, reason } from "../net/api";
import { signIn } from "../net/session";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget as HTMLFormElement).get("token") as string;
    setBusy(true);
    setProblem("");
    try {
      await signIn(token.trim());
    } catch (error) {
      const wrong = error instanceof Problem && error.status === 401;
      setProblem(wrong ? "This is not the token of this server" : reason(error));
    }
    setBusy(false);
  };
  return (
    <main id="main" class="sign-in" data-view="sign-in">
      <form onSubmit={onSubmit} aria-labelledby="sign-in">
        <span class="lamp big" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        <h1 id="sign-in">Andon</h1>
        <p>This server asks for its token. The people who run it have it in a file.</p>
        <label>
          Token
          <input
            name="token" type="password" required autofocus autocomplete="current-password"
            aria-invalid={problem !== ""} aria-describedby="token-problem"
          />
        </label>
        <p id="token-problem" class="problem" role="alert">
          {problem}
        </p>
        <button class="primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
