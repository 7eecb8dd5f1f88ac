import ArgumentParser
import FoundationEssentials
import Glibc
import UsherSandbox

@main
struct UsherSandboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usher-sandbox",
    abstract: "Run local fakes of identity providers, for development and tests.",
    discussion: """
      Not a real identity provider. It listens on loopback only. Open the printed address for the \
      test users, the pages and sample configuration for usherd. SIGTERM or Ctrl-C stops it; all \
      state is lost.
      """)

  @Option(help: "TCP port; 0 picks a free one.")
  var port = 0

  @Option(help: "Address to listen on: 127.0.0.1 or ::1.")
  var host = "127.0.0.1"

  @Option(
    help: ArgumentHelp(
      "JSON file of test users and clients: {\"users\": [{\"username\", \"password\"}], "
        + "\"clients\": [{\"id\", \"name\"}]}.",
      valueName: "file"))
  var users: String?

  @Option(
    help: ArgumentHelp(
      "File to write the port to when the sandbox is listening.", valueName: "file"))
  var portFile: String?

  @Option(help: "Path of the OpenID issuer.")
  var issuerPath = "/oidc"

  @Option(
    help: ArgumentHelp(
      "Mail server on loopback to send e-mails to, such as smtp://127.0.0.1:2525; needs curl.",
      valueName: "url"))
  var smtp: String?

  @Option(help: ArgumentHelp("Sender address of e-mails.", valueName: "address"))
  var mailFrom = MailServer.sender

  func run() async throws {
    let sandbox: Sandbox
    do {
      sandbox = try Sandbox(try settings())
    } catch let error as Sandbox.ConfigurationError {
      throw ValidationError(error.description)
    }
    let portFile = portFile
    let issuerPath = issuerPath
    try await sandbox.runUntilSignalled { base in
      print("usher-sandbox: \(base)")
      print("discovery: \(base)\(issuerPath)/.well-known/openid-configuration")
      fflush(nil)
      if let portFile { Self.write(base, to: portFile) }
    }
  }

  private func settings() throws -> Sandbox.Configuration {
    var settings = Sandbox.Configuration()
    settings.port = port
    settings.host = host
    settings.issuerPath = issuerPath
    settings.mailServer = try smtp.map { try MailServer($0, sender: mailFrom) }
    guard let users else { return settings }
    do {
      settings.population = try Sandbox.Population(
        parsing: try Data(contentsOf: URL(filePath: users)))
    } catch {
      throw ValidationError("cannot read the users file \(users): \(error)")
    }
    return settings
  }

  private static func write(_ base: String, to file: String) {
    let port = base.split(separator: ":").last ?? ""
    do {
      try Data("\(port)\n".utf8).write(to: URL(filePath: file), options: .atomic)
    } catch {
      Self.exit(withError: ValidationError("cannot write \(file): \(error)"))
    }
  }
}
