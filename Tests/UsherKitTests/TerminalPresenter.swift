import UsherKit

/// Shows the SDK's screens in a terminal.
final class TerminalPresenter: FreedomIDPresenter {
  /// Shows a question and returns the typed line; nil at the end of the input.
  private let ask: @Sendable (_ question: String) async -> String?
  /// As `ask`, but the terminal does not echo the typed line.
  private let askHidden: @Sendable (_ question: String) async -> String?

  init(
    ask: @escaping @Sendable (_ question: String) async -> String?,
    askHidden: @escaping @Sendable (_ question: String) async -> String?
  ) {
    self.ask = ask
    self.askHidden = askHidden
  }

  func answer(_ screen: FreedomIDScreen, problem: FreedomIDProblem?) async -> FreedomIDAnswer {
    if let problem { print(problem.message) }
    switch screen {
    case .waiting(let screen):
      print("waiting for \(screen.reason)")
      return .stay
    case .loginMethod(let screen):
      guard let number = await pick(screen.methods.map(\.label)) else { return .cancel }
      return screen.choose(screen.methods[number])
    case .form(let screen): return await fill(screen)
    case .password(let screen):
      return await askHidden("password").map { screen.enter($0) } ?? .cancel
    case .code(let screen):
      let line = await ask("code sent to \(screen.maskedTarget), or an empty line to resend it")
      return line.map { $0.isEmpty ? screen.resend() : screen.enter($0) } ?? .cancel
    case .home(let screen):
      let another = screen.allowsAnother ? ["another account"] : []
      guard let number = await pick(screen.accounts.map(\.label) + another) else { return .cancel }
      guard screen.accounts.indices.contains(number) else { return screen.signInWithAnother() }
      return screen.choose(screen.accounts[number])
    case .fingerprint(let screen):
      print("\(screen.reason): touch the fingerprint reader")
      return screen.isScanning ? .stay : screen.scan()
    case .passcode(let screen):
      return await askHidden("\(screen.reason): passcode").map { screen.enter($0) } ?? .cancel
    case .permissions(let screen):
      let labels = screen.permissions.map(\.label).joined(separator: ", ")
      let line = await ask("\(screen.client) asks for \(labels): yes or no")
      return line.map { $0 == "yes" ? screen.grantAll() : screen.deny() } ?? .cancel
    }
  }

  func finished(_ end: FreedomIDEnd) async {
    switch end {
    case .authorized: print("authorized")
    case .failed(let message): print(message)
    }
  }

  private func fill(_ screen: FreedomIDScreen.Form) async -> FreedomIDAnswer {
    var values: [String: String] = [:]
    for field in screen.fields {
      guard let value = await ask(field.name) else { return .cancel }
      values[field.name] = value
    }
    return screen.fill(values)
  }

  /// Shows a numbered list and returns the index of the chosen label; nil at the end of the input.
  private func pick(_ labels: [String]) async -> Int? {
    for (index, label) in labels.enumerated() { print(index + 1, label) }
    while let line = await ask("number") {
      if let number = Int(line), labels.indices.contains(number - 1) { return number - 1 }
    }
    return nil
  }
}
