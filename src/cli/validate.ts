/**
 * `logfleet validate FILE…`: checks manifests against the rules of API servers and of logfleet. It prints one line for
 * each problem (`file:line:column: path: problem; remedy`).
 */

import { checkCredentialsSecret } from '../account/secret-check.ts';
import { type PlacedFinding, renderFinding } from '../api/finding.ts';
import { checkManifests, type ManifestReport } from '../api/manifest-set.ts';
import { systemClock } from '../base/clock.ts';
import { counted } from '../base/number-text.ts';
import { type CommandContext, exitStatus } from './command/context.ts';
import type { ValidateOptions } from './command/options.ts';
import { readSources } from './resources/given-manifests.ts';

/** Runs `logfleet validate`. Resolves to 2 if a manifest is invalid. Warnings do not change the exit status. */
export async function validateCommand(
  files: readonly string[],
  { output }: ValidateOptions,
  context: CommandContext,
): Promise<number> {
  const sources = await readSources(files, context);
  const report = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  context.stdout.write(
    output === 'json'
      ? renderJson(report.findings)
      : report.findings.map((finding) => `${renderFinding(finding)}\n`).join(''),
  );
  context.stderr.write(`${renderSummary(report, sources.length)}\n`);
  return report.findings.some(({ severity }) => severity === 'error') ? exitStatus.usage : exitStatus.ok;
}

/** Renders errors and warnings as JSON. */
function renderJson(findings: readonly PlacedFinding[]): string {
  const list = findings.map(({ file, line, column, path, severity, reason, problem, remedy }) => {
    return { file, line, column, path, severity, reason, problem, fix: remedy };
  });
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

function renderSummary({ findings, checked, passedOver }: ManifestReport, files: number): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  const success = checked === 0 ? 'nothing to check' : 'all valid';
  const parts = [
    `${counted(checked, 'resource')} in ${counted(files, 'file')}`,
    errors === 0 ? success : counted(errors, 'error'),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(passedOver > 0 ? [`ignored ${counted(passedOver, 'document')} of kinds that logfleet does not use`] : []),
  ];
  return parts.join(', ');
}
