import UsherKit

// Freedom ID's page "iOS SDK" announces an example but shows none. This example makes the three
// calls that the page describes: `create`, `authorize` and `clear`. It decides the points that the
// page leaves open:
//
//  1. The three calls, "of the FreedomID class", are static methods, and their parameters have
//     labels.
//  2. A presenter replaces the view controller, and shows the screens. The SDK holds it weakly.
//  3. The profile has one property for each grant.
//  4. The callback is called on the actor of its closure, else on no particular thread.
//  5. `clear` cancels authorizations in progress. It keeps what the daemon stores.
//  6. The daemon's default socket is used, unless a test passes another path.
//
// It differs from the SDK in three points: the module is called UsherKit; a presenter shows the
// screens, in a terminal `TerminalPresenter.ofProcess`, in a window the app's own; and a passcode
// takes the place of the fingerprint on a machine without a reader.

/// An app written for Freedom ID's SDK.
final class FreedomIDSeedExample: Sendable {
  private let presenter: any FreedomIDPresenter
  /// Shows a line to the person.
  private let show: @Sendable (String) -> Void

  init(
    apiKey: String, socketPath: String? = nil, presenter: any FreedomIDPresenter,
    show: @escaping @Sendable (String) -> Void
  ) {
    self.presenter = presenter
    self.show = show
    FreedomID.create(apiKey: apiKey, socketPath: socketPath)
  }

  func authorize() {
    FreedomID.authorize(
      presenter: presenter, grants: [.readFirstname, .readPhone]
    ) { [show] result in
      switch result {
      case .success(let profile):
        show("\(profile.firstname ?? "no first name"), \(profile.phone ?? "no phone")")
      case .failure(.userCanceled), .failure(.accessDenied):
        show("no data was granted")
      case .failure(.networkError(let error)):
        show("try again later: \(error)")
      case .failure(let error):
        show("the sign-in failed: \(error)")
      }
    }
  }

  func clear() {
    FreedomID.clear()
    show("cleared")
  }
}
