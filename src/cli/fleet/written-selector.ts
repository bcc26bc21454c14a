/**
 * Parses and checks the selector of collectors on a command line. The selector has the form of the field `selector` of a policy, in YAML or
 * JSON.
 */
import { placeFinding, renderExplanation, renderFinding } from '../../api/finding.ts';
import type { CollectorSelector } from '../../api/generated/collector-version-policy.ts';
import { parseManifestFile } from '../../api/manifest-file.ts';
import { validateResource } from '../../api/validation.ts';
import type { CommandContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';

const file = 'SELECTOR';
const path = ['spec', 'selector'];

/** Parses a selector. Prints warnings about it to stderr, and throws a `UsageError` if the selector is invalid. */
export function parseSelector(text: string, { stderr }: Pick<CommandContext, 'stderr'>): CollectorSelector {
  const { documents, problems } = parseManifestFile(text);
  const [document] = documents;
  const [problem] = problems;
  if (text.trim() === '' || documents.length > 1)
    throw new UsageError(`${file} must be one YAML mapping, such as '{matchNames: ["web-*"]}'`);
  if (problem) throw new UsageError(`${file}:${problem.line}:${problem.column}: ${renderExplanation(problem)}`);
  if (!document) throw new UsageError(`${file} is only a comment: write a mapping, such as '{matchNames: ["web-*"]}'`);
  const found = validateResource('CollectorVersionPolicy', policyWith(document.value)).map((finding) =>
    placeFinding(file, document, { ...finding, path: finding.path.slice(path.length) }),
  );
  const errors = found.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new UsageError(errors.map(renderFinding).join('\n'));
  stderr.write(found.map((finding) => `${renderFinding(finding)}\n`).join(''));
  return document.value as CollectorSelector;
}

/** Returns an otherwise valid policy with this selector, so that the checks of policies apply to the selector. */
function policyWith(selector: unknown): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: { name: 'selector' },
    spec: { credentialsSecretRef: { name: 'log-service' }, target: { channel: 'Latest' }, selector },
  };
}
