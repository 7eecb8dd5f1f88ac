import Dispatch

/// Runs what blocks, such as a look at files or at the users' database, where nothing waits for it but
/// who asked.
enum Aside {
  private static let queue = DispatchQueue(label: "usherd.aside", attributes: .concurrent)

  static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: body()) }
    }
  }
}
