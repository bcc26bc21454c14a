/**
 * Decodes the bytes of a manifest file. Accepts UTF-8, and UTF-16 with a byte order mark. Rejects other encodings, so that no
 * manifest is ignored because it is unreadable.
 */

export type ManifestText = { readonly text: string } | { readonly refusal: string };

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
  if (text === undefined) return { refusal: `the file is not valid ${label.toUpperCase()}; write it as UTF-8` };
  if (!text.includes('\0')) return { text };
  const hint = encoding === undefined ? ', as UTF-16 without a byte order mark has' : '';
  return { refusal: `the file contains NUL characters${hint}; write it as UTF-8` };
}

/** Decodes the text of a file. Returns undefined if the bytes are not valid in this encoding. */
function decode(bytes: Uint8Array, label: Encoding['label']): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
