-- Every backslash command of psql that describes objects.
\d
\d+
\dS pg_class
\d app.*
\d+ app.*
\d+ "Odd Name".*
\dt app.*
\dt+ app.*
\di app.*
\di+ app.*
\dv app.*
\dv+ app.*
\dm+ app.*
\ds+ app.*
\df app.*
\df+ app.*
\dfS+ array_to_string
\da
\da sum
\dT app.*
\dT+ app.*
\dT+
\do
\doS+ ||
\dp app.*
\z app.*
\dn
\dn+
\dc
\dcS+ utf8*
\dC
\dC+ int*
\dD app.*
\dD+ app.*
\dF
\dF+ english
\dFd
\dFd+
\dFp
\dFp+
\dFt
\dFt+
\dL
\dLS+
\dl
\dX
\dy
\dx
\dx+
\dA
\dA+
\dAc
\dAo btree integer_ops
\dAp btree integer_ops
\dconfig work_mem
\dconfig+ *page_cost
\ddp
\dE
\des
\deu
\dew
\det
\dO
\dOS "C"
\dO+ app.*
\dP
\dP+ app.*
\dPn app.*
\dPi app.*
\dPt+ app.*
\dRp
\dRs
\drds
\drdsx
\sf app.add
\sf+ app.atomic
\sf app.outs
\sf app.tab
\sf app.standard
\sf app.proc
\sv app.plain
\sv+ app.complex
\sv app.grouped
\sv app.checked
\dd
\dd app.*
\ddS abs
\dti app.*
\dtvmsi app.*
\d app.nosuch
\d pg_catalog.pg_proc
\d+ pg_catalog.pg_class
\d pg_toast.pg_toast_1255
\sf lower
\sf array_to_string
\du dump_*
\dAc btree text
\dAf btree text
\dg+ dump_*
