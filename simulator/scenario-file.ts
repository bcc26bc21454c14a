/** Reads scenarios from YAML files. Error messages have the form `file:line:column: path: problem; remedy`. */
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { Scenario } from './scenario/scenario.ts';
import { renderPath, ScenarioError } from './scenario/scenario-error.ts';
import { scenarioProblems } from './scenario-check.ts';

/**
 * Parses a scenario. Empty text is a valid scenario. Throws ScenarioError. `file` is the file name shown in error
 * messages.
 */
export function parseScenario(text: string, file: string, startMs?: number): Scenario {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  if (document.errors.length > 0) {
    throw new ScenarioError(
      document.errors.map(({ pos, message }) => `${place(pos[0])}: ${message}; correct the YAML syntax`),
    );
  }
  const value = document.contents === null ? {} : document.toJS({ maxAliasCount: 100 });
  const problems = scenarioProblems(value, startMs);
  if (problems.length === 0) return value as Scenario;
  throw new ScenarioError(
    problems.map(({ path, text: problem }) => `${place(offsetOf(document, path))}: ${renderPath(path)}: ${problem}`),
  );
}

/**
 * Returns the offset of a value in the YAML text. If there is no value at `path`, returns the offset of the nearest
 * existing ancestor.
 */
function offsetOf(document: ReturnType<typeof parseDocument>, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}
