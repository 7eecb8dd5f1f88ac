import Testing
import UsherClient

@Suite("Where the daemon is found")
struct SocketPathTests {
  private func path(
    _ environment: [String: String], userID: UInt32 = 1000, systemIsThere: Bool = false
  ) -> String {
    SocketPath.standard(.app, environment: environment, userID: userID) { _ in systemIsThere }
  }

  @Test("the environment decides first")
  func environment() {
    let environment = ["USHER_SOCKET": "/x", "XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment, userID: 0, systemIsThere: true) == "/x")
  }

  @Test("an empty variable is none")
  func emptyVariable() {
    #expect(path(["USHER_SOCKET": ""]) == "/run/usherd/usherd.sock")
  }

  @Test("root has the system's, and so has everyone when it is there")
  func system() {
    let environment = ["XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment, userID: 0) == "/run/usherd/usherd.sock")
    #expect(path(environment, systemIsThere: true) == "/run/usherd/usherd.sock")
  }

  @Test("others have the user's own")
  func user() {
    let environment = ["XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment) == "/run/user/1000/usherd/usherd.sock")
  }

  @Test("the admin socket is found likewise, by its own variable")
  func admin() {
    let environment = ["USHER_SOCKET": "/x", "XDG_RUNTIME_DIR": "/r"]
    let path = SocketPath.standard(.admin, environment: environment, userID: 1) { _ in false }
    #expect(path == "/r/usherd/usherd-admin.sock")
  }
}
