/** Wording of messages that differs between a SearchExport and an export on the command line. */

/** Path, below `spec`, of a field that messages mention. */
export type WordedField =
  | 'activeDeadlineSeconds'
  | 'incompletePolicy'
  | 'limits.maxBytesScanned'
  | 'limits.maxMessages'
  | 'output.fields'
  | 'settleDelay';

export interface ExportWording {
  /** `resource` for a SearchExport that the operator runs, `process` for an export that runs on the command line. */
  readonly startedAs: 'resource' | 'process';
  /** `stdout` if the rows are written to standard output. No row is written until all rows have been checked. */
  readonly rowsGoTo: 'files' | 'stdout';
  /** Returns the user-facing name of a field, such as `spec.settleDelay` or a flag. */
  fieldName(field: WordedField): string;
}

/** Wording for a SearchExport. */
export const resourceWording: ExportWording = {
  startedAs: 'resource',
  rowsGoTo: 'files',
  fieldName: (field) => `spec.${field}`,
};
