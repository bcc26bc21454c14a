/** Renders a finding about a manifest: `file:line:column: path: problem; remedy`. */
import type { PlacedFinding } from '../../api/manifest-set.ts';

export function renderFinding({ file, position, path, severity, message }: PlacedFinding): string {
  const place = `${file}:${position.line}:${position.column}: `;
  return `${place}${path === '' ? '' : `${path}: `}${severity === 'warning' ? 'warning: ' : ''}${message}\n`;
}
