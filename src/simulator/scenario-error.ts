/** A scenario that cannot be: each problem says where, what is wrong, and what to write. */
import { LogfleetError } from '../base/errors.ts';

export interface ScenarioProblem {
  /** Members and indices from the root. */
  readonly path: readonly (string | number)[];
  readonly text: string;
}

export class ScenarioError extends LogfleetError {
  override readonly name = 'ScenarioError';

  /** One problem a line. */
  constructor(lines: readonly string[]) {
    super({
      code: 'scenario.invalid',
      message: lines.join('\n'),
      handling: { kind: 'stall' },
      reason: 'InvalidScenario',
    });
  }
}

export function renderPath(path: readonly (string | number)[]): string {
  return path.length === 0 ? 'the scenario' : path.join('.');
}
