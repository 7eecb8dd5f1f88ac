import UsherKit

// The seed "iOS SDK" of Freedom ID announces an example and shows none. This one makes its three
// calls. What the seed leaves open:
//
//  1. The calls are "of the FreedomID class": they are static, with the labels of their parameters.
//  2. A presenter stands in for the view controller, and draws the screens. The SDK holds it weakly.
//  3. The members of the profile: one for each grant.
//  4. Where the callback is called: on no particular thread.
//  5. `clear` takes a callback as well, as it asks the daemon.
//  6. The socket is the one of the user's daemon, unless a test says otherwise.

/// An app that used Freedom ID's SDK.
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
        show("\(profile.firstname ?? "somebody"), \(profile.phone ?? "no phone")")
      case .failure(.userCanceled), .failure(.accessDenied):
        show("nothing was granted")
      case .failure(.networkError(let error)):
        show("try again later: \(error)")
      case .failure(let error):
        show("it cannot be done: \(error)")
      }
    }
  }

  func clear() {
    FreedomID.clear { [show] result in
      switch result {
      case .success: show("cleared")
      case .failure(let error): show("not cleared: \(error)")
      }
    }
  }
}
