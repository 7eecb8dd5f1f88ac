/// A fake of one provider: its endpoints and the settings that a test may change.
///
/// To add a backend, write its type and add it to ``Sandbox/backends(_:)``. The request log,
/// faults, limits and the index page need no further code.
package protocol Backend: Sendable {
  /// The heading of this backend on the index page.
  var title: String { get }

  /// The provider's public endpoints. Each request is logged and subject to faults.
  var endpoints: [Endpoint] { get }

  /// The control endpoints for tests, under `/_control`. They are not logged and have no faults.
  var controls: [Endpoint] { get }

  /// Links to pages and documents of this backend, for the index page.
  func links(base: String) -> [Link]

  /// A snippet of `usherd.toml` that points usherd at this backend.
  func configurationSample(base: String) -> String
}

/// A link on the index page.
package struct Link: Sendable, Equatable {
  package var title: String
  package var url: String

  package init(_ title: String, _ url: String) {
    self.title = title
    self.url = url
  }
}

/// The state and services that all backends share.
package struct BackendContext: Sendable {
  package var users: Users
  package var clock: SandboxClock
  package var tokenGenerator: TokenGenerator
  package var pages: Pages
  package let outbox: Outbox
  /// The listener at which clients may present certificates; nil if there is none.
  package let tls: TLSListener?

  package init(
    users: Users, clock: SandboxClock, tokenGenerator: TokenGenerator, pages: Pages,
    mailServer: MailServer? = nil, tls: TLSListener? = nil
  ) {
    self.users = users
    self.clock = clock
    self.tokenGenerator = tokenGenerator
    self.pages = pages
    self.tls = tls
    outbox = Outbox(clock: clock, mailServer: mailServer)
  }
}
