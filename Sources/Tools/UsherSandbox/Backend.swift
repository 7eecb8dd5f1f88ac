/// One provider's stand-in: its endpoints, and what a test may change about it.
///
/// A new one is a file of its own and a line in ``Sandbox/backends(_:_:)``. Log, faults, limits and
/// the index page come by themselves.
package protocol Backend: Sendable {
  /// What people read on the index page.
  var title: String { get }

  /// What the world sees. Each passes through the request log and the faults.
  var endpoints: [Endpoint] { get }

  /// What a test may change, under `/_control`; not logged and never faulted.
  var controls: [Endpoint] { get }

  /// Pages and documents worth opening, for the index page.
  func links(base: String) -> [Link]

  /// How usherd is pointed at it: a piece of `usherd.toml`.
  func configurationSample(base: String) -> String
}

/// A line of the index page.
package struct Link: Sendable, Equatable {
  package var title: String
  package var url: String

  package init(_ title: String, _ url: String) {
    self.title = title
    self.url = url
  }
}

/// What all backends share.
package struct Workbench: Sendable {
  package var users: Users
  package var clock: SandboxClock
  package var mint: TokenMint
  package var pages: Pages
  package let outbox: Outbox

  package init(
    users: Users, clock: SandboxClock, mint: TokenMint, pages: Pages, mailServer: MailServer? = nil
  ) {
    self.users = users
    self.clock = clock
    self.mint = mint
    self.pages = pages
    outbox = Outbox(clock: clock, mailServer: mailServer)
  }
}
