/** Errors and warnings about a resource. */
import { oneLine } from '../base/short-text.ts';
import { type JsonPath, renderPath } from './json-path.ts';

/** Line and column in a file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Reason of an error or warning:
 * - `Required`: a value is missing or empty.
 * - `Unknown`: no such field, kind, version or key exists.
 * - `WrongType`: the value has the wrong type.
 * - `OutOfRange`: a number, a length or a count is too small or too large.
 * - `Duplicate`: the value occurs twice.
 * - `Unreadable`: the text cannot be parsed.
 * - `Invalid`: the value breaks another rule of the field.
 * - `NoEffect`: the value changes nothing.
 * - `Risky`: the value works, but probably not as intended.
 */
export type FindingReason =
  | 'Required'
  | 'Unknown'
  | 'WrongType'
  | 'OutOfRange'
  | 'Duplicate'
  | 'Unreadable'
  | 'Invalid'
  | 'NoEffect'
  | 'Risky';

export interface Finding {
  /** `error`: the resource is rejected. `warning`: it probably does not work as intended. */
  readonly severity: 'error' | 'warning';
  readonly path: JsonPath;
  /** Part of the field that is wrong: its name (`key`) or its value (`value`). */
  readonly subject: 'key' | 'value';
  readonly reason: FindingReason;
  /** The problem, such as `must be a number`. Messages show this text after the field's name. */
  readonly problem: string;
  /** How to fix the problem, such as `write 1 or more`. */
  readonly remedy: string;
}

/** A problem and how to fix it. */
export type Explanation = Pick<Finding, 'problem' | 'remedy'>;

export interface PlacedFinding extends Omit<Finding, 'path' | 'subject'>, Position {
  readonly file: string;
  /** Path of the field. Empty for a whole file or document. */
  readonly path: string;
}

const findingOf =
  (severity: Finding['severity']) =>
  (path: JsonPath, reason: FindingReason, about: Explanation & Partial<Pick<Finding, 'subject'>>): Finding => {
    const { problem, remedy, subject = 'value' } = about;
    return { severity, path, subject, reason, problem, remedy };
  };

export const error = findingOf('error');
export const warning = findingOf('warning');

export function placeFinding(
  file: string,
  document: { locate(path: JsonPath, subject: Finding['subject']): Position },
  { path, subject, ...finding }: Finding,
): PlacedFinding {
  return { ...finding, file, ...document.locate(path, subject), path: renderPath(path) };
}

export function fileError(file: string, reason: FindingReason, problem: string, remedy: string): PlacedFinding {
  return { severity: 'error', file, line: 1, column: 1, path: '', reason, problem, remedy };
}

export function renderExplanation({ problem, remedy }: Explanation): string {
  return remedy === '' ? problem : `${problem}; ${remedy}`;
}

/**
 * Renders a finding as `file:line:column: path: problem; remedy`. The result is one line without control characters,
 * even if the manifest contains them.
 */
export function renderFinding(finding: PlacedFinding): string {
  const { file, line, column, path, severity } = finding;
  const what = `${path === '' ? '' : `${path}: `}${severity === 'warning' ? 'warning: ' : ''}`;
  return oneLine(`${file}:${line}:${column}: ${what}${renderExplanation(finding)}`);
}
