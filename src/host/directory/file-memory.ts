/**
 * Stores data about each manifest file, such as digests of its lines, so that a restarted operator can recognize a
 * truncated file. The text itself is not stored, because it may contain a Secret. Each directory has one file with this
 * data: `{"web.yaml":{"ids":["Kind/namespace/name"],"refused":[],"print":{…}}}`.
 */
import { hash } from 'node:crypto';
import { jsonReader, objectOf, textListShape } from '../../api/json-shape.ts';
import { identify } from '../../base/key-text.ts';
import { readIfPresent, writeDurably } from './durable-file.ts';
import type { DecodedFile } from './manifest-decoding.ts';
import { firstMissing, type Outline } from './manifest-outline.ts';
import { StateDirectory } from './state-directory.ts';

export interface TextPrint {
  /** Digest of each line in the manifest file. */
  readonly lines: readonly string[];
  /** Length of the last line, in characters. */
  readonly lastLength: number;
  /** Number of lines, not counting blank lines and comments at the end of the file. */
  readonly significant: number;
  /** True if the manifest file ends with a line feed. */
  readonly isEnded: boolean;
}

/** Metadata of a manifest file, stored after logfleet has read the complete file. */
export interface FileMemory {
  /** Identities of the valid objects in the file. */
  readonly ids: readonly string[];
  /** Identities of the invalid objects in the file. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
  /** Outlines (field names without values) of the valid objects in the file, by object identity. */
  readonly outlines: Outline;
}

/** Stored data about the manifest files in a directory, by file path. */
export type FileMemories = Map<string, FileMemory>;

const integer = { type: 'integer' } as const;
const print = objectOf({
  lines: textListShape,
  lastLength: integer,
  significant: integer,
  isEnded: { type: 'boolean' },
});
const outline = { type: 'object', additionalProperties: { $ref: '#/definitions/outline' }, required: [] } as const;
const decodeMemories = jsonReader<Readonly<Record<string, FileMemory>>>({
  definitions: { outline },
  type: 'object',
  additionalProperties: objectOf({ ids: textListShape, refused: textListShape, print, outlines: outline }),
  required: [],
});

/**
 * Loads the stored data about the manifest files in a directory. Returns an empty map if the data is missing or
 * damaged.
 */
export async function loadMemories(directory: string): Promise<FileMemories> {
  const stored = decodeMemories(await readIfPresent(new StateDirectory(directory).memoryFile));
  return new Map(Object.entries(stored ?? {}));
}

export async function saveMemories(directory: string, memories: FileMemories): Promise<void> {
  await writeDurably(new StateDirectory(directory).memoryFile, `${JSON.stringify(Object.fromEntries(memories))}\n`);
}

export function printOf(text: string): TextPrint {
  const { lines, isEnded } = linesOf(text);
  const significant = lines.findLastIndex(isSignificant) + 1;
  return { lines: lines.map(digest), lastLength: lines.at(-1)?.length ?? 0, significant, isEnded };
}

/**
 * Returns the outlines (field names without values) to store for a file. An invalid object keeps its earlier outline,
 * because logfleet is still using the earlier version of the object.
 */
export function outlinesIn({ outlines, refused }: DecodedFile, memory: FileMemory | undefined): Outline {
  const ids = new Set(refused.map(({ kind, key }) => identify(kind, key)));
  return { ...Object.fromEntries(Object.entries(memory?.outlines ?? {}).filter(([id]) => ids.has(id))), ...outlines };
}

/**
 * Compares the new text of a manifest file with the text that logfleet last used. Returns what the new text lacks,
 * worded to follow "it lacks", or undefined if nothing is missing. Invalid objects are not compared, because logfleet
 * does not use them. If the name of an object cannot be read, this object could be any of the missing ones, so no
 * object is reported as missing.
 */
export function lossOf(text: string, decoded: DecodedFile, memory: FileMemory): string | undefined {
  const { outlines } = memory;
  if (Object.keys(outlines).length === 0) return undefined;
  const now = decoded.unclear === undefined ? outlinesIn(decoded, memory) : { ...outlines, ...decoded.outlines };
  const missing = firstMissing(outlines, now);
  if (missing) return renderPath(missing);
  return memory.print.isEnded && !text.endsWith('\n') ? 'the line feed at its end' : undefined;
}

/**
 * Renders the path of a field in a document, for example `spec.stages[canary] of CollectorVersionPolicy logging/web`.
 */
function renderPath([id = '', ...names]: readonly string[]): string {
  const document = id.replace('/', ' ');
  return names.length === 0 ? document : `${names.join('.').replaceAll('.[', '[')} of ${document}`;
}

/**
 * Reports whether a file is probably truncated: its new text (`text`) is only the beginning of its earlier text. If
 * only blank lines and comments are missing at the end, the file does not count as truncated.
 * @param print digests of the lines of the earlier text
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
