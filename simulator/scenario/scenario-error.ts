/** Error for an invalid scenario. Each problem consists of a path, a reason and a remedy. */
import { LogfleetError } from '../../src/base/errors.ts';

export interface ScenarioProblem {
  /** Path of the invalid value in the scenario, as a list of member names and list indices. */
  readonly path: readonly (string | number)[];
  readonly text: string;
}

export class ScenarioError extends LogfleetError {
  override readonly name = 'ScenarioError';

  /** Creates the error. The error message has one line per problem. */
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
