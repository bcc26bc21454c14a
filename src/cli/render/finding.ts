/** What is wrong with a manifest, as a line: `file:line:column: path: what is wrong; what to write`. */
import type { PlacedFinding } from '../../api/manifest-set.ts';

export function renderFinding({ file, position, path, severity, message }: PlacedFinding): string {
  const place = `${file}:${position.line}:${position.column}: `;
  return `${place}${path === '' ? '' : `${path}: `}${severity === 'warning' ? 'warning: ' : ''}${message}\n`;
}
