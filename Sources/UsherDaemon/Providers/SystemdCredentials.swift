import UsherConfig
import UsherCore
import UsherSystem

/// The credentials for providers that systemd passed, as they were at one time. The store's own
/// keys, which systemd passes in the same way, are never included.
struct SystemdCredentials: Sendable {
  private static let keys = [
    MasterKeySource.credentialName, StoreBootstrap.recoveryKey, StoreBootstrap.acceptingChanges,
  ]

  private var values: [String: Secret] = [:]
  /// For each credential that cannot be read, the error.
  private var flaws: [String: any Error] = [:]
  /// The error if the credentials directory as a whole cannot be read.
  private var failure: (any Error)?
  private let directory: String

  /// Creates a value without credentials.
  init() { directory = "" }

  /// Reads the credentials. Blocks.
  ///
  /// - Parameter directory: The directory of the credentials; nil if systemd passes none.
  init(_ directory: CredentialsDirectory?, on disk: Disk) {
    self.directory = directory?.path ?? ""
    guard let directory else { return }
    do {
      for name in try disk.credentialNames(directory) where !Self.keys.contains(name) {
        do {
          values[name] = try disk.credential(name, directory)
        } catch {
          flaws[name] = error
        }
      }
    } catch {
      failure = error
    }
  }

  /// Returns the credential of that name; nil if there is none.
  func secret(named name: String) throws(UsherError) -> Secret? {
    try checkReadable()
    if let flaw = flaws[name] {
      throw UsherError(.internalError, "systemd's credential \(name) cannot be read", cause: flaw)
    }
    return values[name]
  }

  func names() throws(UsherError) -> [String] {
    try checkReadable()
    return Array(values.keys) + flaws.keys
  }

  private func checkReadable() throws(UsherError) {
    guard let failure else { return }
    throw UsherError(.internalError, "systemd's credentials cannot be read", cause: failure)
  }

  /// The read errors, in the form in which a reload reports problems of the configuration.
  var problems: [ConfigProblem] {
    let whole = failure.map { [problem(directory, $0)] } ?? []
    return whole
      + flaws.sorted { $0.key < $1.key }.map { problem("\(directory)/\($0.key)", $0.value) }
  }

  private func problem(_ path: String, _ error: any Error) -> ConfigProblem {
    let message = (error as? UsherError)?.message ?? "cannot be read"
    return ConfigProblem(file: path, line: 0, column: 0, key: "", message: message)
  }

  /// Returns the names of the credentials whose value differs between the two sets.
  func names(otherThanIn before: SystemdCredentials) -> Set<String> {
    let all = Set(values.keys).union(before.values.keys)
    return all.filter { values[$0] != before.values[$0] }
  }
}
