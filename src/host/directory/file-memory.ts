/**
 * Stores facts about each manifest file: the resources in the file, and digests of its lines. After a restart, the digests
 * show whether the file was truncated. The text of a file is not stored, because it may contain a Secret.
 *
 * One file per directory stores the facts: `{"web.yaml":{"ids":["Kind/namespace/name"],"refused":[],"print":{…}}}`.
 */
import { hash } from 'node:crypto';
import { jsonReader, objectOf, texts } from '../../api/json-shape.ts';
import { readIfPresent, writeDurably } from './durable-file.ts';
import { StateDirectory } from './state-directory.ts';

export interface TextPrint {
  /** Digest of each line of the manifest file. */
  readonly lines: readonly string[];
  /** Length of the file's last line in characters. */
  readonly lastLength: number;
  /** Number of lines in the file, without blank lines and comments at its end. */
  readonly significant: number;
}

/** Stored facts about a manifest file, from the last time at which it was read completely. */
export interface FileMemory {
  /** Identities of the valid resources, Secrets and settings in the file. */
  readonly ids: readonly string[];
  /** Identities of the invalid resources, Secrets and settings in the file. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
}

/** Facts about the manifest files of one directory, by the path of the file in the directory. */
export type FileMemories = Map<string, FileMemory>;

const print = objectOf({ lines: texts, lastLength: { type: 'integer' }, significant: { type: 'integer' } });
const decodeMemories = jsonReader<Readonly<Record<string, FileMemory>>>({
  type: 'object',
  additionalProperties: objectOf({ ids: texts, refused: texts, print }),
  required: [],
});

/**
 * Loads the facts about the manifest files of a directory. Empty if the stored facts are missing or do not have the expected
 * form.
 */
export async function loadMemories(directory: string): Promise<FileMemories> {
  const stored = decodeMemories(await readIfPresent(new StateDirectory(directory).memoryFile));
  return new Map(Object.entries(stored ?? {}));
}

export async function saveMemories(directory: string, memories: FileMemories): Promise<void> {
  await writeDurably(new StateDirectory(directory).memoryFile, `${JSON.stringify(Object.fromEntries(memories))}\n`);
}

export function printOf(text: string): TextPrint {
  const { lines } = linesOf(text);
  const significant = lines.findLastIndex(isSignificant) + 1;
  return { lines: lines.map(digest), lastLength: lines.at(-1)?.length ?? 0, significant };
}

/**
 * Returns whether `text` equals an earlier text of the file, apart from a missing end. `print` contains digests of the lines
 * of the earlier text. A text that lacks only blank lines and comments does not count as truncated.
 */
export function isCut(text: string, print: TextPrint): boolean {
  const { lines, isEnded } = linesOf(text);
  const same = lines.findIndex((line, index) => digest(line) !== print.lines[index]);
  const whole = same === -1 ? lines.length : same;
  const isBeginning = whole === lines.length || (!isEnded && whole === lines.length - 1);
  if (!isBeginning || whole >= print.significant) return false;
  return lines.length < print.lines.length || (lines.at(-1)?.length ?? 0) < print.lastLength;
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly isEnded: boolean } {
  const lines = text.split('\n');
  const isEnded = lines.at(-1) === '';
  return { lines: isEnded ? lines.slice(0, -1) : lines, isEnded };
}

function isSignificant(line: string): boolean {
  return /^(?!---\s*$|\.\.\.\s*$)\s*[^#\s]/.test(line);
}

function digest(text: string): string {
  return hash('sha256', text, 'base64').slice(0, 8);
}
