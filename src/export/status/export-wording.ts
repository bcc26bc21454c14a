/**
 * Names and facts for the messages of an export, which depend on how the export was started. `export-health.ts` renders each message once,
 * with one of these.
 */

/** Field of the spec that a message can name, as a path below `spec`. */
export type WordedField =
  | 'activeDeadlineSeconds'
  | 'incompletePolicy'
  | 'limits.maxBytesScanned'
  | 'limits.maxMessages'
  | 'output.fields'
  | 'settleDelay';

export interface ExportWording {
  /**
   * `resource`: an operator works on a SearchExport, whose spec cannot change what the files hold. `process`: a process works on this export
   * alone, and another start can have another query.
   */
  readonly startedAs: 'resource' | 'process';
  /** `stdout`: the rows stay in a temporary folder until they are proven, and then go to stdout. */
  readonly rowsGoTo: 'files' | 'stdout';
  /** Name of a field for the person who started the export: `spec.settleDelay`, or a flag. */
  fieldName(field: WordedField): string;
}

/** Wording for a SearchExport that an operator works on. */
export const resourceWording: ExportWording = {
  startedAs: 'resource',
  rowsGoTo: 'files',
  fieldName: (field) => `spec.${field}`,
};
