/** Tests that an API server accepts the Kubernetes manifests in the documentation. */
import { expect, test } from 'vitest';
import { kubectl } from '../support/control-plane.ts';
import { allBlocks } from '../support/docs-commands.ts';

const manifests = allBlocks.filter(
  ({ language, text }) => language === 'yaml' && /^apiVersion: (?!logfleet\.dev|kustomize)/.test(text),
);

test.each(manifests.map(({ page, line, text }) => [page, line, text] as const))(
  '%s:%d: the manifest has only existing fields',
  async (_, __, text) => {
    // The test uses the namespace `default`, because a dry run requires an existing namespace.
    const input = text.replace(/namespace: [\w-]+/, 'namespace: default');
    const { status, stderr } = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);
