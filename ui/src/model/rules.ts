import type { Maintenance } from "./duty";

/** One of: a comparison of a metric, or of its change over a span; its absence; an expression. */
export interface Condition {
  metric?: string;
  op?: string;
  value?: number;
  over?: string;
  absent_for?: string;
  expr?: string;
}

/** A rule on readings, as the server has it. */
export interface Rule {
  name: string;
  match?: Pick<Maintenance, "devices" | "prefix" | "group">;
  when: Condition;
  clear_value?: number;
  clear?: Condition;
  for?: string;
  clear_for?: string;
  state: string;
  clear_state?: string;
  message?: string;
  disabled?: string;
}

const opposite: Record<string, string> = { ">": "≤", ">=": "<", "<": "≥", "<=": ">" };
const sign: Record<string, string> = { ">=": "≥", "<=": "≤", "==": "=", "!=": "≠" };

function conditionText(c: Condition): string {
  if (c.expr) return c.expr;
  if (c.absent_for) return `no ${c.metric} for ${c.absent_for}`;
  const what = c.over ? `change of ${c.metric} within ${c.over}` : c.metric;
  return `${what} ${sign[c.op!] ?? c.op} ${c.value}`;
}

const held = (text: string, span: string | undefined) => (span ? `${text}, for ${span}` : text);

/** When a rule is raised. */
export const raisedText = (r: Rule): string => held(conditionText(r.when), r.for);

/** When a rule that is raised is cleared. */
export function clearedText(r: Rule): string {
  if (r.when.absent_for) return `the next reading with ${r.when.metric}`;
  if (r.clear) return held(conditionText(r.clear), r.clear_for);
  if (r.clear_value === undefined) return held("that no longer holds", r.clear_for);
  const { op, value: _, ...of } = r.when;
  return held(conditionText({ ...of, op: opposite[op!], value: r.clear_value }), r.clear_for);
}
