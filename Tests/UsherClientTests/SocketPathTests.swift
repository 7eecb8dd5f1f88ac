import Testing
import UsherClient

@Suite("Path of the daemon's socket")
struct SocketPathTests {
  private func path(
    _ environment: [String: String], userID: UInt32 = 1000, systemIsThere: Bool = false
  ) -> String {
    SocketPath.standard(.app, environment: environment, userID: userID) { _ in systemIsThere }
  }

  @Test("USHER_SOCKET overrides every other socket path")
  func environment() {
    let environment = ["USHER_SOCKET": "/x", "XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment, userID: 0, systemIsThere: true) == "/x")
  }

  @Test("an empty USHER_SOCKET is ignored")
  func emptyVariable() {
    #expect(path(["USHER_SOCKET": ""]) == "/run/usherd/usherd.sock")
  }

  @Test("the system's socket is used by root, and by other users if it exists")
  func system() {
    let environment = ["XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment, userID: 0) == "/run/usherd/usherd.sock")
    #expect(path(environment, systemIsThere: true) == "/run/usherd/usherd.sock")
  }

  @Test("without a system socket, a client uses the daemon's socket in XDG_RUNTIME_DIR")
  func user() {
    let environment = ["XDG_RUNTIME_DIR": "/run/user/1000"]
    #expect(path(environment) == "/run/user/1000/usherd/usherd.sock")
  }

  @Test("the admin socket's path ignores USHER_SOCKET")
  func admin() {
    let environment = ["USHER_SOCKET": "/x", "XDG_RUNTIME_DIR": "/r"]
    let path = SocketPath.standard(.admin, environment: environment, userID: 1) { _ in false }
    #expect(path == "/r/usherd/usherd-admin.sock")
  }
}
