/** The pages of the documentation site, in the order of its sidebar. */

export interface PageGroup {
  readonly title: string;
  readonly pages: readonly string[];
}

/** Start page of the site, built from README.md. */
export const startPage = 'README.md';

export const navigation: readonly PageGroup[] = [
  {
    title: 'Install and operate',
    pages: [
      ...['docs/install.md', 'charts/logfleet/README.md', 'docs/upgrade.md', 'docs/uninstall.md', 'docs/backup.md'],
      ...['docs/alerts.md', 'docs/notifications.md', 'docs/ui.md', 'docs/pull-requests.md'],
    ],
  },
  { title: 'Upgrade collectors', pages: ['docs/rollouts.md', 'docs/message-analysis.md'] },
  { title: 'Export logs', pages: ['docs/exports.md', 'docs/schedules.md', 'docs/stores.md', 'docs/jobs.md'] },
  {
    title: 'Reference',
    pages: [
      ...['docs/cli.md', 'docs/reference.md', 'docs/metrics.md', 'docs/formats.md', 'docs/rights.md'],
      ...['docs/performance.md', 'CHANGELOG.md'],
    ],
  },
  { title: 'Concepts', pages: ['docs/glossary.md', 'docs/protocol.md', 'docs/service.md'] },
  { title: 'Simulator', pages: ['simulator/README.md', 'docs/simulator.md', 'docs/query-language.md'] },
  { title: 'Development', pages: ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md'] },
];

/** All pages of the site. */
export const pages: readonly string[] = [startPage, ...navigation.flatMap((group) => group.pages)];
