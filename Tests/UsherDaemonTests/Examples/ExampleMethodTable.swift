import JSONRPC
import UsherCore

@testable import UsherDaemon

/// A method table with the method of the page AddingAMethod.
enum ExampleMethodTable {
  /// The host name that the example's service reads.
  @TaskLocal static var hostName: String?

  /// Answers a call of the method as an unlocked daemon does.
  static func respond(
    _ params: JSONValue, as caller: Caller, on host: String?, by lockController: LockController
  ) throws -> Response {
    var table = MethodTable(lockController)
    table.addExample()
    let service = RPCService(lockController, table)
    return try $hostName.withValue(host) {
      try service.respond(to: SystemHostName.name, params, as: caller)
    }
  }
}

extension MethodTable {
  fileprivate mutating func addExample() {
    add(SystemHostName.self) { _, _, services throws(UsherError) in try services.hostNames.get() }
  }
}

extension Services {
  /// The service that the page adds.
  fileprivate var hostNames: HostNameService {
    HostNameService { ExampleMethodTable.hostName }
  }
}
