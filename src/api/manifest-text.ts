/**
 * Decodes the bytes of a manifest file. Accepts UTF-8, and UTF-16 with a byte order mark. Rejects other encodings, so that no
 * manifest is ignored because it is unreadable.
 */
import type { Explanation } from './finding.ts';

/** Text of a manifest file, or the reason why it cannot be decoded. */
export type ManifestText = { readonly text: string } | Explanation;

const remedy = 'write it as UTF-8';

interface Encoding {
  readonly mark: readonly number[];
  readonly label: 'utf-8' | 'utf-16le' | 'utf-16be';
}

/** Encodings that a byte order mark identifies. PowerShell 5 writes UTF-16 with `>`. */
const marked: readonly Encoding[] = [
  { mark: [0xef, 0xbb, 0xbf], label: 'utf-8' },
  { mark: [0xff, 0xfe], label: 'utf-16le' },
  { mark: [0xfe, 0xff], label: 'utf-16be' },
];

export function decodeManifestText(bytes: Uint8Array): ManifestText {
  const encoding = marked.find(({ mark }) => mark.every((byte, index) => bytes[index] === byte));
  const label = encoding?.label ?? 'utf-8';
  const text = decode(bytes, label);
  if (text === undefined) return { problem: `the file is not valid ${label.toUpperCase()}`, remedy };
  if (!text.includes('\0')) return { text };
  const hint = encoding === undefined ? ', as UTF-16 without a byte order mark has' : '';
  return { problem: `the file contains NUL characters${hint}`, remedy };
}

/** Decodes the text of a file. Returns undefined if the bytes are not valid in this encoding. */
function decode(bytes: Uint8Array, label: Encoding['label']): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
