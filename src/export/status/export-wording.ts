/**
 * Words and facts that messages about an export need and that depend on how the export was started: as a SearchExport
 * or on the command line. `export-health.ts` renders each message from one of these objects.
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
   * `resource`: an operator works on a SearchExport, whose query and range cannot change. `process`: a command works on
   * this export alone, and its next start can have another query.
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
