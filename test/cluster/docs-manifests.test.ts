/**
 * Tests that an API server accepts the manifests in the documentation. It covers manifests of the kinds of Kubernetes itself,
 * such as Secret, but not logfleet's kinds.
 */
import { expect, test } from 'vitest';
import { kubectl } from '../support/control-plane.ts';
import { allBlocks } from '../support/docs-commands.ts';

const manifests = allBlocks.filter(
  ({ language, text }) => language === 'yaml' && /^apiVersion: (?!logfleet\.dev|kustomize)/.test(text),
);

test.each(manifests.map(({ page, line, text }) => [page, line, text] as const))(
  '%s:%d: the manifest has only existing fields',
  async (_, __, text) => {
    // A dry run on the server needs an existing namespace, so the manifest gets one.
    const input = text.replace(/namespace: [\w-]+/, 'namespace: default');
    const { status, stderr } = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);
