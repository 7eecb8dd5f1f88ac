import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The program that usherctl starts on a desktop to show a page.
@Suite("Opening a page on the desktop", .mayBlock, .timeLimit(.minutes(10)))
struct OpenerTests {
  let fixture: OIDCFixture

  init() throws { fixture = try OIDCFixture() }

  /// An `xdg-open` that records its command line, and the replies that another user and its own
  /// user get at the address.
  private static let opener = """
    #!/usr/bin/python3
    import http.client, json, os, subprocess, sys, urllib.parse

    line = open("/proc/self/cmdline").read()
    visit = '''
    import http.client, json, sys, urllib.parse
    parts = urllib.parse.urlsplit(sys.argv[1])
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    try:
        connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
        reply = connection.getresponse()
        print(json.dumps([reply.status, reply.getheader("Location") or ""]))
    except OSError as error:
        print(json.dumps([0, str(error)]))
    '''
    def visited(launcher):
        command = launcher + ["/usr/bin/python3", "-c", visit, sys.argv[1]]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)

    other = ["/usr/bin/setpriv", "--reuid=4002", "--regid=4002", "--clear-groups"]
    seen = {"line": line, "other": visited(other) if os.getuid() == 0 else [],
            "own": visited([]), "again": visited([])}
    with open(os.environ["OPENER_LOG"] + ".new", "w") as file:
        json.dump(seen, file)
    os.rename(os.environ["OPENER_LOG"] + ".new", os.environ["OPENER_LOG"])

    """

  @Test(
    "the opener's command line has no state or nonce, and its URL works once and for its user only")
  func commandLine() throws {
    let place = try TemporaryDirectory()
    try place.install(place.write(Self.opener, to: "script"), as: "xdg-open")
    let program = try RunningProgram(
      BuiltProduct.path("usherctl"), ["login", "demo", "--socket", fixture.daemon.socketPath],
      environment: [
        "DISPLAY": ":99", "PATH": "\(place.path):/usr/bin:/bin", "OPENER_LOG": place.file("seen"),
      ], log: place.file("log"))
    var seen: JSONValue = .null
    try eventually("usherctl starts the opener: \(program.log)") {
      guard let bytes = FileManager.default.contents(atPath: place.file("seen")) else {
        return false
      }
      seen = try JSONValue(parsing: Array(bytes))
      return true
    }
    let line = try #require(seen["line"]?.stringValue)
    #expect(!line.contains("state=") && !line.contains("nonce="), "\(line)")
    #expect(line.contains("http://127.0.0.1:"))
    let page = try #require(program.log.firstMatch(of: /http:\S+state=\S+/).map { String($0.0) })
    #expect(seen["own"] == [302, .string(page)], "\(seen)")
    if getuid() == 0 { #expect(seen["other"] == [403, ""], "\(seen)") }
    #expect(
      seen["again"]?.arrayValue?.first != 302, "the address given to the opener works only once")
    try Person.signIn(at: page)
    #expect(try program.exitStatus() == 0)
  }
}
